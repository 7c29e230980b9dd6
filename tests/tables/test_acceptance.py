"""Acceptance lengths against a request-by-request loop over simulated step ledgers."""

import numpy as np
import pandas as pd
import pytest

from specdock.tables.acceptance import (
    LedgerError,
    Steps,
    break_even,
    by_category,
    by_position,
    conditional_rates,
    ledger,
    lengths_from_chunks,
    lengths_from_counters,
    lengths_from_steps,
    step_time,
)

DRAFTS = 7


def simulate(rng, requests: int, length: float, skill: float) -> pd.DataFrame:
    """Requests with their steps; some steps draft nothing, the last is cut at the end of text."""
    rows = []
    for _ in range(requests):
        total = int(np.clip(rng.lognormal(np.log(length), 0.5), 5, 2000))
        done, accepted, drafted, chunks = 1, [], [], [1]
        while done < total:
            drafts = 0 if rng.random() < 0.05 else DRAFTS
            kept = int(np.argmax(np.append(rng.random(drafts) > skill, True)))
            accepted.append(kept)
            drafted.append(drafts)
            chunks.append(min(kept + 1, total - done))
            done += kept + 1
        rows.append((total, accepted, drafted, chunks))
    columns = ["completion_tokens", "step_accepted", "step_drafted", "chunk_tokens"]
    return pd.DataFrame(rows, columns=columns)


RNG = np.random.default_rng(0)
SHORT = simulate(RNG, 60, 40, 0.95).assign(category="math")
LONG = simulate(RNG, 60, 400, 0.6).assign(category="prose")
REQUESTS = pd.concat([SHORT, LONG], ignore_index=True)
STEPS = Steps.from_lists(REQUESTS["step_accepted"], REQUESTS["step_drafted"])


def test_every_definition_equals_its_formula_in_a_plain_loop():
    tokens = decode = verified = kept = 0
    macro, per_verify = [], []
    for row in REQUESTS.itertuples():
        drafting = [a for a, d in zip(row.step_accepted, row.step_drafted, strict=True) if d]
        tokens += row.completion_tokens
        decode += len(row.step_accepted)
        verified += len(drafting)
        kept += sum(drafting)
        macro.append(1 + sum(drafting) / len(drafting))
        per_verify.append(row.completion_tokens / len(drafting))

    found = lengths_from_steps(REQUESTS["completion_tokens"], STEPS)

    assert found == pytest.approx(
        {
            "al.committed": (tokens - len(REQUESTS)) / decode,
            "al.req_macro": np.mean(macro),
            "al.tok_per_verify_macro": np.mean(per_verify),
            "al.tok_per_verify_micro": tokens / verified,
        }
    )
    assert lengths_from_counters(verified, kept) == {"al.counter": 1 + kept / verified}


def test_the_mean_of_requests_misleads_where_length_and_difficulty_go_together():
    found = lengths_from_steps(REQUESTS["completion_tokens"], STEPS)

    assert found["al.req_macro"] > 1.2 * found["al.committed"]


def test_chunks_give_the_committed_length_without_step_lists():
    chunks = lengths_from_chunks(REQUESTS["chunk_tokens"])

    assert chunks == pytest.approx(
        {"al.committed": lengths_from_steps(REQUESTS["completion_tokens"], STEPS)["al.committed"]}
    )


def test_chunks_without_token_counts_give_nothing():
    assert lengths_from_chunks([[1, 3, -1], [1, 2]]) == {}
    assert lengths_from_chunks([[1], []]) == {}


def test_an_arm_that_drafts_nothing_has_no_acceptance_length():
    steps = Steps.from_lists([[0, 0], []], [[0, 0], []])

    assert lengths_from_steps([3, 1], steps) == {}
    assert lengths_from_counters(0, 0) == {}


def test_the_account_of_every_simulated_request_balances():
    account = ledger(REQUESTS["completion_tokens"], STEPS)

    assert account.holds.all()
    emitted = 1 + account.verified + account.accepted + account.undrafted - account.truncated
    np.testing.assert_array_equal(emitted, REQUESTS["completion_tokens"])
    assert (account.truncated > 0).any() and (account.truncated <= DRAFTS).all()


def test_steps_that_the_engine_does_not_list_are_found_by_the_account():
    account = ledger([10], Steps.from_lists([[3]], [[7]]))

    assert (account.undrafted, account.truncated, account.holds) == (5, 0, True)


def test_more_tokens_accepted_than_a_stop_can_cut_break_the_account():
    account = ledger([10], Steps.from_lists([[7, 7, 7]], [[7, 7, 7]]))

    assert account.truncated == 15 and not account.holds


def test_step_lists_of_unequal_length_are_refused():
    with pytest.raises(LedgerError, match="differ in length"):
        Steps.from_lists([[1, 2]], [[7]])


def test_categories_are_measured_apart():
    found = by_category(REQUESTS)

    alone = lengths_from_steps(
        SHORT["completion_tokens"], Steps.from_lists(SHORT["step_accepted"], SHORT["step_drafted"])
    )
    assert found.loc["math"].to_dict() == pytest.approx(alone)
    assert list(found.index) == ["math", "prose"]


def test_positions_count_only_the_steps_that_drafted_so_far():
    found = by_position(Steps.from_lists([[2, 0, 1], [3]], [[3, 3, 1], [3]]))

    assert found["position"].tolist() == [1, 2, 3]
    assert found["drafted"].tolist() == [4, 3, 3]
    assert found["accepted"].tolist() == [3, 2, 1]
    assert found["unconditional"].tolist() == pytest.approx([3 / 4, 2 / 3, 1 / 3])
    assert found["conditional"].tolist() == pytest.approx([3 / 4, 2 / 2, 1 / 2])


def test_conditional_acceptance_recovers_the_skill_of_the_simulated_drafter():
    found = by_position(Steps.from_lists(LONG["step_accepted"], LONG["step_drafted"]))

    assert found["conditional"][:3].tolist() == pytest.approx([0.6] * 3, abs=0.03)


def test_counters_give_the_same_conditional_rates_at_a_fixed_draft_length():
    found = by_position(Steps.from_lists([[2, 0, 1], [3]], [[3, 3, 3], [3]]))

    np.testing.assert_allclose(conditional_rates(found["unconditional"]), found["conditional"])
    np.testing.assert_array_equal(conditional_rates([0.5, 0.0, 0.0]), [0.5, 0.0, np.nan])


def test_a_step_costs_decode_time_over_steps_and_pays_above_the_break_even_length():
    speculative = step_time([2.0, 1.0], [30, 20])

    assert speculative == pytest.approx(60.0)
    assert break_even(speculative, plain_step=40.0) == pytest.approx(1.5)
