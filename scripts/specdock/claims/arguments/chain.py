"""Where the speed came from: each step of the chain, and what its two resolved arms differ in."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
)
from specdock.claims.decomposition import Change, changed_factors, factors, waterfall
from specdock.columns import column

WATERFALL = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("step", pa.int32(), "place in the chain, from 1; 0 is the whole chain"),
        column("arm", pa.string(), "arm after the step"),
        column("against", pa.string(), "arm before the step"),
        *with_interval("ratio", "output rate after over output rate before"),
        column(
            "share",
            pa.float64(),
            "part of the whole chain's logarithm, null where the whole may be nothing",
        ),
        column("largest", pa.bool_(), "the step that moves the output rate most"),
        column("factors", pa.string(), "what the step changes, by the resolved arms"),
        column("changes", pa.string(), "every value that differs"),
        column("clean", pa.bool_(), "exactly one factor changes"),
        *BEHIND,
    ]
)


def chain(measured: Measured) -> Iterator[dict]:
    """Rows of `WATERFALL`, for scenarios that every arm of the chain ran."""
    arms = measured.plan["chain"]
    if len(arms) < 2:
        return
    specs = measured.plan["arms"]
    changed = [changed_factors(specs[a], specs[b]) for a, b in pairwise(arms)]
    changed.insert(0, changed_factors(specs[arms[0]], specs[arms[-1]]))
    for scenario in measured.scenarios:
        values = measured.values("output_rate", arms, [scenario])[:, 0]
        if np.isnan(values).all(axis=1).any():
            continue
        found = waterfall(values)
        # Parts of a whole that may be nothing mean nothing.
        told = found.total.low > 1 or found.total.high < 1
        links = [(found.total, 1.0 if told else np.nan, arms[0], arms[-1])]
        links += [
            (found.steps[i], found.share[i] if told else np.nan, before, after)
            for i, (before, after) in enumerate(pairwise(arms))
        ]
        largest = 1 + int(np.argmax(np.abs(np.log(found.steps.value))))
        for step, (estimate, share, before, after) in enumerate(links):
            yield {
                "scenario": scenario,
                "step": step,
                "arm": after,
                "against": before,
                **spelled("ratio", estimate),
                "share": number(share),
                "largest": step == largest,
                **described(changed[step]),
                **based_on(estimate),
                **measured.behind([after, before], [scenario]),
            }


def described(changes: list[Change]) -> dict:
    """The columns `factors`, `changes` and `clean` of what differs between two arms."""
    distinct = factors(changes)
    return {
        "factors": ", ".join(distinct) or "nothing",
        "changes": "; ".join(
            f"{c.path}: {_set(c.before)} → {_set(c.after)}" for c in _told(changes)
        )
        or "nothing",
        "clean": len(distinct) == 1,
    }


def _told(changes: list[Change]) -> list[Change]:
    """An engine is told by its name, not by every entry of its description, a drafter by the
    speculation that names it."""
    named = [c for c in changes if c.path in ("engine_name", "target.name", "drafter.name")]
    known = {c.path.partition(".")[0].removesuffix("_name") for c in named} | {"environment"}
    told = [c for c in changes if c in named or c.path.partition(".")[0] not in known]
    return [c for c in told if c.path != "drafter.name"]


def _set(value: object) -> object:
    return "not set" if value is None else value
