"""A published trap: with a BF16 KV cache SGLang wrote fluently and ignored its prompts.

Nothing failed, drafts were accepted, no answer was a loop; 0 of 40 problems were right. Only the
accuracy floor of the scenario tells that the cell must not be quoted.
"""

import json

import pytest

from specdock.tables.cells import cell_row
from specdock.tables.requests import request_rows
from tests.engines.arms import arm, scenario

PROBLEMS = 40
FACTS = {
    "cell": "c",
    "session": "s",
    "wall": 20.0,
    "client_cpu": 0.5,
    "loop_lag": 1.0,
    "window_start": "2026-11-07T10:00:00+00:00",
}
TOKENS = 121
DRAFTING = {"spec_num_correct_drafts": 90, "spec_num_proposed_drafts": 210, "spec_verify_ct": 30}


def answer(number: int) -> dict:
    """A raw row as SGLang leaves it: text chunks of unknown length, and its drafting account."""
    cell = {"cell": "c", "arm": "arm", "scenario": "gsm8k@1", "seed": 1, "session": "s"}
    times = {"t_send": 0.0, "t_first": 0.1, "t_last": 1.3, "t_end": 1.4}
    account = json.dumps({"sglext": {"spec_tokens_details": DRAFTING}})
    return {
        **cell,
        **times,
        "phase": "measured",
        "request": number,
        "prompt_id": str(number),
        "category": None,
        "prompt_sha256": "",
        "prompt_tokens": 80,
        "completion_tokens": TOKENS,
        "finish_reason": "stop",
        "chunk_tokens": [-1] * 31,
        "step_accepted": [],
        "step_drafted": [],
        "engine_metrics": account,
        "error": None,
    }


def measured(correct: int) -> dict:
    """The cell of forty problems, so many of them right."""
    raw = [answer(number) for number in range(PROBLEMS)]
    grades = {
        ("c", n): {"correct": n < correct, "outcome": "answer", "degenerate": False}
        for n in range(PROBLEMS)
    }
    served = arm(
        "sglang-0.5.23", {"method": "dflash2", "draft_tokens": 7}, {"kv_cache_dtype": "bfloat16"}
    )
    graded = scenario(id="gsm8k@1", workload="gsm8k", streams=1, sampling_name="greedy", floor=0.5)
    counters = {"drafts": 30.0 * PROBLEMS, "generation_tokens": float(TOKENS * PROBLEMS)}
    session = {"dirty": "", "gpu": {"other_processes": 0}}
    rows = list(request_rows(raw, grades, 0))
    return cell_row(served, graded, FACTS, rows, raw, counters, None, session, [])


def test_the_floor_catches_answers_that_are_fluent_and_wrong():
    cell = measured(correct=0)
    assert cell["reasons"] == ["below-floor"]
    assert not cell["usable"]
    assert cell["acceptance_rate"] == pytest.approx(90 / 210)  # nothing else looks wrong


def test_the_same_speed_with_right_answers_is_usable():
    cell = measured(correct=30)
    assert cell["usable"] and cell["accuracy"] == 0.75


def test_acceptance_comes_from_the_accounts_of_requests_where_the_engine_counts_no_tokens():
    cell = measured(correct=30)
    assert cell["draft_tokens"] == 210 * PROBLEMS
    assert cell["accepted_tokens"] == 90 * PROBLEMS
    assert cell["verification_steps"] == 30 * PROBLEMS
    assert cell["al_counter"] == pytest.approx(1 + 90 / 30)
    assert cell["al_committed"] == pytest.approx((TOKENS - 1) / 30)
