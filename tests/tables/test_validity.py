"""An arm that drafts nothing is unusable, but where its schedule asks for no drafts."""

import pytest

from specdock.tables.validity import Observed, reasons
from tests.engines.arms import arm, scenario


def observed(drafted: float | None) -> Observed:
    """A cell without fault whose engine drafted so many tokens."""
    nothing = dict.fromkeys(Observed.__dataclass_fields__, None)
    sound = {"failed": 0, "requests": 4, "completion_tokens": 64, "counted_tokens": 64}
    sound |= {"degenerate": 0, "largest_chunk": 1, "other_processes": False, "dirty": False}
    return Observed(**nothing | sound | {"busy": 0.0, "draft_tokens": drafted})


@pytest.mark.parametrize(
    ("streams", "schedule", "drafted", "found"),
    [
        (8, None, 0, ["nothing-drafted"]),
        (8, None, None, ["nothing-drafted"]),
        (8, None, 40, []),
        (8, {"1-4": 7, "5-8": 0}, 0, []),
        (8, {"1-4": 7, "5-8": 0}, 3, []),  # when the last requests were left
        (4, {"1-4": 7, "5-8": 0}, 0, ["nothing-drafted"]),
        (1, {"1-8": 0}, 0, []),
    ],
)
def test_a_schedule_may_ask_for_no_drafts(streams, schedule, drafted, found):
    scheduled = arm("vllm-0.33.0", {"method": "mtp", "draft_tokens": 7, "schedule": schedule})
    cell = scenario(id="essays", streams=streams, floor=None)
    assert reasons(scheduled, cell, observed(drafted), []) == found


def test_an_arm_without_speculation_drafts_nothing():
    assert reasons(arm("vllm-0.33.0"), scenario(id="x", streams=1), observed(0), []) == []
