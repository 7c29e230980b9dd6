"""BFCL itself, in its own environment, asks a stand-in engine and grades what it answered."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from specdock.environments.build import build
from specdock.grades.bfcl import grade_bfcl
from specdock.plan.load import load_data_sets
from specdock.runs.bfcl import BfclPlan, measure_bfcl
from specdock.runs.client import CellFailed, CellMeasurement
from specdock.workloads.prompts import Prompt
from tests.stand_ins.completions_server import completions_server

ROOT = Path(__file__).parents[2]
BFCL = load_data_sets(ROOT)["bfcl-205"].bfcl
RIGHT, WRONG = "simple_python_294", "simple_python_63"
IRRELEVANT, TURNS = "irrelevance_49", "multi_turn_base_115"
PROSE = "None of these functions helps."


@pytest.fixture(scope="module")
def python() -> Path:
    return build(BFCL.name, BFCL.environment, ROOT).python


@pytest.fixture
def plan(python, tmp_path) -> BfclPlan:
    """Four cases of three kinds, with a tokenizer of one word as the target's."""
    target = tmp_path / "target"
    target.mkdir()
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(target / "tokenizer.json"))
    config = {"model_type": "llama", "max_position_embeddings": 8192}
    (target / "config.json").write_text(json.dumps(config))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192}
    (target / "tokenizer_config.json").write_text(json.dumps(about))
    ids = (RIGHT, WRONG, IRRELEVANT, TURNS)
    cases = [Prompt(case, [], category=case.rpartition("_")[0]) for case in ids]
    project = tmp_path / "session/bfcl"
    project.parent.mkdir()
    return BfclPlan(python, BFCL.handler, target, cases, 2, 0.001, project)


def measured(plan: BfclPlan, answer: Callable) -> tuple[CellMeasurement, list[str]]:
    moments: list[str] = []
    with completions_server(answer) as url:
        return measure_bfcl(url, plan, lambda requests, tokens: None, moments.append), moments


def shipped(python: Path, name: str) -> dict[str, dict]:
    """BFCL's own file of cases or of right answers, by id."""
    data = next(python.parent.parent.glob("lib/python*/site-packages/bfcl_eval/data"))
    lines = (data / name).read_text(encoding="utf-8").splitlines()
    return {entry["id"]: entry for entry in map(json.loads, lines)}


def right_call(python: Path) -> tuple[str, str]:
    """The question of the case `RIGHT`, and a call that BFCL's own key allows."""
    name = "BFCL_v4_simple_python.json"
    question = shipped(python, name)[RIGHT]["question"][0][0]["content"]
    [truth] = shipped(python, f"possible_answer/{name}")[RIGHT]["ground_truth"]
    [(function, allowed)] = truth.items()
    call = {"name": function, "arguments": {key: values[0] for key, values in allowed.items()}}
    return question, f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


def test_right_and_wrong_answers_are_asked_kept_and_told_apart_by_bfcl(python, plan):
    question, call = right_call(python)
    found, moments = measured(plan, lambda prompt: call if question in prompt else PROSE)
    assert moments == ["before", "after"]
    rows = {row.prompt_id: row for row in found.rows}
    assert rows.keys() == {RIGHT, WRONG, IRRELEVANT, TURNS}
    assert found.wall == max(row.t_end for row in found.rows)
    assert found.loop_lag is None and found.client_cpu >= 0
    # One request for a single turn, one a turn here for several; every one as it was sent.
    sent = {case: json.loads(row.body) for case, row in rows.items()}
    assert len(sent[RIGHT]) == 1 and len(sent[TURNS]) > 1
    [asked] = sent[RIGHT]
    assert asked["body"]["temperature"] == 0.001 and question in asked["body"]["prompt"]
    assert (asked["text"], asked["usage"]["completion_tokens"]) == (call, 7)
    assert (asked["t_send"], asked["t_end"]) == (rows[RIGHT].t_send, rows[RIGHT].t_end)
    assert rows[TURNS].completion_tokens == 7 * len(sent[TURNS])
    assert {row.finish_reason for row in found.rows} == {"stop"}
    assert all(0 <= row.t_send <= row.t_end for row in found.rows)

    raw = [{"prompt_id": r.prompt_id, "category": r.category, "text": r.text} for r in found.rows]
    verdicts = grade_bfcl(raw, BFCL.handler, python)
    right = {case for case, verdict in verdicts.items() if verdict.correct}
    assert right == {RIGHT, IRRELEVANT}
    assert verdicts[RIGHT].outcome == "passed"
    assert verdicts[WRONG].outcome == "simple_function_checker:wrong_count"
    assert verdicts[TURNS].outcome.startswith("multi_turn:")


def test_a_failed_request_fails_the_cell_and_is_never_scored(plan):
    two = replace(plan, cases=plan.cases[:2])
    with pytest.raises(
        CellFailed, match="1 of 2 cases failed; the first: Error during inference"
    ) as caught:
        measured(two, lambda prompt: None if "chord progression" in prompt else PROSE)
    errors = {row.prompt_id: row.error for row in caught.value.rows}
    assert errors[WRONG] is None and "the engine has died" in errors[RIGHT]
