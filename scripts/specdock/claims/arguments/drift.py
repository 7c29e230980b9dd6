"""Drift: the reference's first session again at the end of the campaign."""

from collections.abc import Iterator

import pyarrow as pa

from specdock.claims.arguments.measured import BEHIND, Measured
from specdock.columns import column
from specdock.plan.spec import DRIFT_CONTROL

DRIFT = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("against", pa.string(), "the reference, whose first seed was repeated"),
        column("first", pa.float64(), "output rate in its place in the campaign", "tok/s"),
        column("again", pa.float64(), "output rate at the end of the campaign", "tok/s"),
        column("ratio", pa.float64(), "the repeated rate over the first"),
        column("hours", pa.float64(), "between the windows", "h"),
        *BEHIND,
    ]
)


def drift(measured: Measured) -> Iterator[dict]:
    """The row of `DRIFT`, if the study asked for the control and both cells are usable."""
    scenario = measured.plan.get("drift_control")
    cells = measured.usable[measured.usable["scenario"] == scenario]
    again = cells[cells["arm"] == DRIFT_CONTROL]
    for reference in measured.role("reference"):
        own = cells[(cells["arm"] == reference) & (cells["seed"] == measured.seeds[0])]
        if again.empty or own.empty:
            continue
        before, after = own.iloc[0], again.iloc[0]
        yield {
            "scenario": scenario,
            "against": reference,
            "first": before["output_rate"],
            "again": after["output_rate"],
            "ratio": after["output_rate"] / before["output_rate"],
            "hours": (after["window_start"] - before["window_start"]).total_seconds() / 3600,
            "seeds": 1,
            "basis": "no interval",
            "cells": [before["cell"], after["cell"]],
            "synthetic": bool(before["synthetic"] or after["synthetic"]),
            "reason": "one start each: a drift within the spread of starts is none",
        }
