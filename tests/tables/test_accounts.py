"""Drafting as engines without step lists account for it, in their own words."""

import json

import pytest

from specdock.tables.acceptance import lengths_from_steps, lengths_from_totals
from specdock.tables.accounts import Account, account_of
from tests.tables.test_acceptance import REQUESTS, STEPS

# The last chunk of llama.cpp, recorded: n-gram drafts, and none.
DRAFTED = {"timings": {"cache_n": 0, "predicted_n": 96, "draft_n": 50, "draft_n_accepted": 10}}
PLAIN = {"timings": {"cache_n": 0, "predicted_n": 96}}
# SGLang's SpecTokensDetails at eight verified tokens, seven of them drafts.
SGLANG = {
    "sglext": {
        "spec_tokens_details": {
            "spec_accept_rate": 0.35,
            "spec_accept_length": 3.4,
            "spec_num_correct_drafts": 49,
            "spec_num_proposed_drafts": 140,
            "spec_verify_ct": 20,
            "spec_correct_drafts_histogram": [4, 4, 4, 3, 3, 1, 1, 0],
        }
    }
}


@pytest.mark.parametrize(
    ("told", "account"),
    [
        (DRAFTED, Account(accepted=10, drafted=50, verified=None)),
        (PLAIN, Account(accepted=0, drafted=0, verified=None)),
        (SGLANG, Account(accepted=49, drafted=140, verified=20)),
        ({"metrics": {"queue_time_ms": 1.0}}, None),
    ],
)
def test_each_engines_account_is_read_in_its_own_words(told, account):
    assert account_of(json.dumps(told)) == account


def test_an_engine_that_tells_nothing_has_no_account():
    assert account_of(None) is None


@pytest.mark.parametrize(
    ("account", "completion", "steps"),
    [
        (Account(accepted=10, drafted=50, verified=None), 96, 85),
        (Account(accepted=0, drafted=0, verified=None), 96, 95),
        (Account(accepted=49, drafted=140, verified=20), 70, 20),  # balances: 1 + 20 + 49
        (Account(accepted=49, drafted=140, verified=20), 68, 20),  # two cut off at the stop
        (Account(accepted=49, drafted=140, verified=20), 75, 25),  # five steps without a draft
    ],
)
def test_steps_follow_from_totals(account, completion, steps):
    assert account.steps(completion) == steps


def test_totals_give_the_same_lengths_as_the_steps_they_sum_up():
    drafting = [sum(d > 0 for d in row) for row in REQUESTS["step_drafted"]]
    accepted = [sum(row) for row in REQUESTS["step_accepted"]]
    steps = [
        Account(a, 0, v).steps(tokens)
        for a, v, tokens in zip(accepted, drafting, REQUESTS["completion_tokens"], strict=True)
    ]
    listed = lengths_from_steps(REQUESTS["completion_tokens"], STEPS)
    summed = lengths_from_totals(REQUESTS["completion_tokens"], steps, accepted, drafting)
    for name in ("al.req_macro", "al.tok_per_verify_macro", "al.tok_per_verify_micro"):
        assert summed[name] == pytest.approx(listed[name])
    # A step that drafts nothing hides behind tokens that a stop cut off.
    assert summed["al.committed"] == pytest.approx(listed["al.committed"], rel=0.01)


def test_without_a_count_of_verifications_only_the_committed_length_is_told():
    assert lengths_from_totals([96], [85], [10], None) == {"al.committed": pytest.approx(95 / 85)}
    assert lengths_from_totals([], [], [], None) == {}
