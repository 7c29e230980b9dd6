"""What each knob did: the arms in the role `sweep` beside the arm that they vary."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from specdock.claims.arguments.bill import without_speculation
from specdock.claims.arguments.chain import described
from specdock.claims.arguments.measured import BEHIND, Measured, number, with_interval
from specdock.claims.decomposition import changed_factors, factors
from specdock.claims.sweep import sweep as effects_of
from specdock.columns import column
from specdock.tables.schema import METRICS

SWEEP = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("rank", pa.int32(), "place by size of effect, from 1"),
        column("arm", pa.string(), "arm that varies the base"),
        column("against", pa.string(), "the base"),
        *with_interval("effect", "output rate over the base's"),
        column("noise", pa.float64(), "how far equal arms differ here by chance, 95 in 100 times"),
        column("factors", pa.string(), "what the arm changes, by the resolved arms"),
        column("changes", pa.string(), "every value that differs from the base"),
        column("clean", pa.bool_(), "exactly one factor changes"),
        column("verdict", pa.string(), "better, worse, equivalent or undecided"),
        *BEHIND,
    ]
)
_BASES = ("candidate", "served", "matched", "incumbent", "control", "reference")


def sweep(measured: Measured) -> Iterator[dict]:
    """Rows of `SWEEP`, for scenarios that a base and at least one of its variations ran."""
    varied = measured.role("sweep")
    base = _base(measured, varied)
    if base is None:
        return
    specs = measured.plan["arms"]
    band = measured.plan["band"].get("output_rate", 0.0)
    bases = {arm: _own_base(measured, arm, base) for arm in varied}
    names = [*dict.fromkeys([*bases.values(), *varied])]
    for scenario in measured.scenarios:
        values = measured.values("output_rate", names, [scenario])[:, 0]
        ran = {arm: own for arm, own in zip(names, values, strict=True) if not np.isnan(own).all()}
        beside = {arm: own for arm, own in bases.items() if arm in ran and own in ran}
        if not beside:
            continue
        found = effects_of(ran, beside, band, METRICS["output_rate"].higher_is_better)
        for rank, row in enumerate(found.effects.itertuples(), 1):
            against = beside[row.arm]
            yield {
                "scenario": scenario,
                "rank": rank,
                "arm": row.arm,
                "against": against,
                "effect": number(row.value),
                "effect_low": number(row.low),
                "effect_high": number(row.high),
                "noise": number(found.noise),
                **described(changed_factors(specs[against], specs[row.arm])),
                "verdict": row.verdict,
                "seeds": row.runs,
                "basis": row.basis,
                "reason": "one engine start: no interval exists" if row.runs == 1 else None,
                **measured.behind([row.arm, against], [scenario]),
            }


def _own_base(measured: Measured, arm: str, base: str) -> str:
    """The base; where that is plain decoding, plain decoding on this arm's own engine and flags."""
    if measured.speculates(base):
        return base
    return without_speculation(measured, arm, measured.arms) or base


def _base(measured: Measured, varied: list[str]) -> str | None:
    """The arm from which most of the varied arms differ in exactly one factor, by the fewest
    values."""
    specs = measured.plan["arms"]
    bases = [arm for arm in measured.role(*_BASES) if arm not in varied]

    def closeness(base: str) -> tuple[int, int]:
        found = [changed_factors(specs[base], specs[arm]) for arm in varied]
        return sum(len(factors(changes)) == 1 for changes in found), -sum(map(len, found))

    return max(bases, key=closeness) if varied and bases else None
