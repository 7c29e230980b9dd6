"""Validity before speed: reasons that make a cell unusable, and remarks that travel with it.

Each is a code; `REASONS` and `REMARKS` say in words what a code means, for the article.
"""

from dataclasses import dataclass

from specdock.plan.spec import ArmSpec, ScenarioSpec
from specdock.plan.values import drafts_at
from specdock.tables.evidence import Evidence

DEGENERATE_SHARE = 0.5
CLIENT_CPU = 0.7
LOOP_LAG_MS = 250.0
ENERGY_TOLERANCE = 0.05
BUSY_SHARE = 0.25

REASONS = {
    "nothing-drafted": "the arm speculates, yet the engine drafted no token",
    "degenerate-output": "at least half of the answers are repetition loops",
    "below-floor": "the share correct is under the scenario's floor",
    "warm-prefix-cache": "prompts were served from the prefix cache",
    "evidence-missing": "a required log line is missing",
    "evidence-forbidden": "a forbidden log line is there",
    "tokens-disagree": "the requests' usage and the engine's counters disagree beyond truncation",
    "client-bottleneck": "the measuring client was too busy to be trusted",
    "requests-failed": "requests failed",
    "other-work": "other work used the card",
}

REMARKS = {
    "synthetic": "dummy weights or an imposed acceptance: only speed is real",
    "fixed-length": "generation was forced past its natural end",
    "some-degenerate": "some answers are repetition loops, which are easy to draft",
    "chunks-merged": "stream chunks were merged, so steps are counted too few",
    "energy-disagrees": "the energy counter and the integrated samples differ beyond tolerance",
    "uncommitted-change": "measured with uncommitted changes, which are kept in the manifest",
    "third-party-engine": "the engine's package is a third party's rebuild",
    "busy-machine": "other processes kept the processors busy when the engine started",
    "preempted": "the engine preempted requests for want of KV memory",
    "other-client": "another client sent the requests; what it does not tell is left out",
}


@dataclass(frozen=True)
class Observed:
    """What validity is judged by; None where the engine or the machine cannot tell."""

    failed: int
    requests: int
    completion_tokens: int
    counted_tokens: float | None
    draft_tokens: float | None
    prefix_hit_tokens: float | None
    preemptions: float | None
    degenerate: int
    accuracy: float | None
    client_cpu: float | None
    loop_lag: float | None
    largest_chunk: int
    other_processes: bool
    energy_counter: float | None
    energy_trapezoid: float | None
    dirty: bool
    busy: float


def reasons(arm: ArmSpec, scenario: ScenarioSpec, seen: Observed, log: list[Evidence]) -> list[str]:
    """Codes of `REASONS` that apply to a cell."""
    facts = {item.fact for item in log}
    wanted = arm.speculation
    drafts = drafts_at(scenario.streams, wanted.draft_tokens, wanted.schedule)
    slack = seen.requests * (arm.speculation.draft_tokens or 0)
    tests = {
        # A schedule may ask for no drafts at this concurrency.
        "nothing-drafted": drafts > 0 and not seen.draft_tokens,
        "degenerate-output": seen.degenerate >= DEGENERATE_SHARE * max(seen.requests, 1)
        and not arm.synthetic,
        "below-floor": scenario.floor is not None
        and seen.accuracy is not None
        and seen.accuracy < scenario.floor,
        "warm-prefix-cache": bool(seen.prefix_hit_tokens) and not arm.serve.prefix_caching,
        "evidence-missing": any(fact not in facts for fact in arm.evidence.require),
        "evidence-forbidden": any(fact in facts for fact in arm.evidence.forbid),
        "tokens-disagree": seen.counted_tokens is not None
        and abs(seen.counted_tokens - seen.completion_tokens) > slack,
        "client-bottleneck": (seen.client_cpu or 0) > CLIENT_CPU
        or (seen.loop_lag or 0) > LOOP_LAG_MS,
        "requests-failed": seen.failed > 0,
        "other-work": seen.other_processes,
    }
    return [code for code, applies in tests.items() if applies]


def remarks(arm: ArmSpec, scenario: ScenarioSpec, seen: Observed) -> list[str]:
    """Codes of `REMARKS` that apply to a cell."""
    widest = (arm.speculation.draft_tokens or 0) + 1
    disagree = (
        seen.energy_counter is not None
        and seen.energy_trapezoid is not None
        and abs(seen.energy_counter - seen.energy_trapezoid)
        > ENERGY_TOLERANCE * max(seen.energy_counter, seen.energy_trapezoid)
    )
    tests = {
        "synthetic": arm.synthetic,
        "fixed-length": scenario.fixed_length,
        "some-degenerate": 0 < seen.degenerate < DEGENERATE_SHARE * seen.requests,
        "chunks-merged": seen.largest_chunk > widest,
        "energy-disagrees": disagree,
        "uncommitted-change": seen.dirty,
        "third-party-engine": arm.engine.note is not None,
        "busy-machine": seen.busy > BUSY_SHARE,
        "preempted": bool(seen.preemptions),
        "other-client": scenario.load_generator is not None,
    }
    return [code for code, applies in tests.items() if applies]
