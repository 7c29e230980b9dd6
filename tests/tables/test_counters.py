"""Counter deltas are read from real /metrics texts of both CPU builds."""

from pathlib import Path

import pytest

from specdock.plan.load import load_engines
from specdock.tables.counters import counter_deltas, counter_values

ROOT = Path(__file__).parents[2]
NAMES = load_engines(ROOT)["vllm-0.32.0-cpu"].counters


@pytest.mark.parametrize(
    ("file", "drafts", "drafted", "accepted", "first"),
    [
        ("vllm-cpu-0.27-metrics.txt", 141, 705, 378, 110),
        ("vllm-cpu-0.32-metrics.txt", 1759, 8795, 3854, 1234),
    ],
)
def test_speculative_counters_are_read(file, drafts, drafted, accepted, first):
    values = counter_values((ROOT / "tests/fixtures" / file).read_text(), NAMES)
    assert values["drafts"] == drafts
    assert values["draft_tokens"] == drafted
    assert values["accepted_tokens"] == accepted
    assert values["accepted_at_position"][0] == first
    assert sum(values["accepted_at_position"].values()) == accepted


def test_a_delta_is_after_minus_before_and_a_new_counter_starts_at_zero():
    before = 'a_total{m="x"} 3.0\n'
    after = 'a_total{m="x"} 5.0\na_total{m="y"} 1.0\nb_total{position="0"} 4.0\n'
    deltas = counter_deltas(before, after, {"a": "a_total", "b": "b_total", "c": "c_total"})
    assert deltas == {"a": 3.0, "b": {0: 4.0}}
