"""What was published beside what was measured here: a row a published figure, with its verdict."""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from specdock.claims.arguments.measured import BEHIND, Measured, based_on, with_interval
from specdock.claims.comparisons import scale_of
from specdock.claims.intervals import Basis, Estimate, mean_over_runs
from specdock.columns import column
from specdock.published.counterparts import difference, our_metric, our_scenario
from specdock.published.ledger import Figure, Ledger, load_ledger
from specdock.tables.schema import METRICS

REPRODUCED, DIFFERS, UNDECIDED = "reproduced", "differs", "undecided"
OTHER_DEFINITION, NOT_COMPARABLE = "definition differs", "not comparable here"
NOT_RUN, NOT_RUNNABLE = "not run", "not runnable here"

SCOREBOARD = pa.schema(
    [
        column("figure", pa.string(), "id of the published figure"),
        column("arm", pa.string(), "arm, as published"),
        column("scenario", pa.string(), "scenario, as published"),
        column("metric", pa.string(), "the quantity, as published"),
        column("published", pa.float64(), "the published value, in our unit"),
        *with_interval("ours", "measured here"),
        *with_interval("ratio", "measured here over published"),
        column("noise", pa.float64(), "run-to-run noise that the article states, as a fraction"),
        column("verdict", pa.string(), "what became of the published figure"),
        *BEHIND,
    ]
)

_NO_RESULT = ("context", "noise", "setting")
_FACTORS = {("s", "ms"): 1000.0, ("problems", ""): 1.0, ("cases", ""): 1.0}


def scoreboard(measured: Measured) -> Iterator[dict]:
    """Rows of `SCOREBOARD`: every figure that the study's article states as measured by itself.

    Reproduced: the whole interval of the ratio lies within the stated noise of the published run;
    differs: all of it lies outside. Both need an interval, hence two engine starts.
    """
    if not measured.plan["published"]:
        return
    ledger = load_ledger(measured.root, measured.plan["published"])
    for figure in ledger.figures:
        own = figure.kind == "measured_there" and figure.form == "value"
        if own and figure.metric not in _NO_RESULT:
            yield _row(figure, measured, ledger)


def _row(figure: Figure, measured: Measured, ledger: Ledger) -> dict:
    row = {
        "figure": figure.id,
        "arm": figure.arm,
        "scenario": figure.scenario,
        "metric": figure.metric,
        "published": figure.value,
        "noise": _noise(figure, measured.plan, ledger),
        "seeds": 0,
        "basis": Basis.NONE.value,
        "cells": [],
        "synthetic": False,
    }
    unmapped = measured.plan["unmapped"]
    if reason := unmapped.get(figure.arm) or unmapped.get(figure.scenario):
        return row | {"verdict": NOT_RUNNABLE, "reason": reason}
    if reason := _not_comparable(figure, measured):
        return row | {"verdict": NOT_COMPARABLE, "reason": reason}
    name = our_metric(figure.metric)
    metric = METRICS[name]
    row["published"] = figure.value * _FACTORS.get((figure.unit, metric.unit), 1.0)
    scenario = our_scenario(figure.scenario, measured.plan)
    values = measured.values(name, [figure.arm], [scenario])[0, 0]
    why = difference(figure, metric.definition, measured.plan)
    if np.isnan(values).all():
        reason = "; ".join(filter(None, ["no usable cell of this arm and scenario", why]))
        return row | {"verdict": NOT_RUN, "reason": reason}
    ours = mean_over_runs(values, scale_of(name))
    row |= _spelled("ours", ours, 1.0) | based_on(ours)
    row |= measured.behind([figure.arm], [scenario])
    if why:
        return row | {"verdict": OTHER_DEFINITION, "reason": why}
    if not row["published"]:
        return row | {"verdict": UNDECIDED, "reason": "no ratio to a published zero"}
    row |= _spelled("ratio", ours, row["published"])
    return row | {"verdict": _verdict(row["ratio_low"], row["ratio_high"], row["noise"])}


def _not_comparable(figure: Figure, measured: Measured) -> str | None:
    """Why no cell of this study could ever stand beside the figure; None if one could."""
    if figure.arm not in measured.arms:
        return "published of no single arm"
    if our_scenario(figure.scenario, measured.plan) not in measured.scenarios:
        return "published of no single scenario"
    if figure.bound:
        return "published as an end of a range"
    name = our_metric(figure.metric)
    if name not in METRICS:
        return "no metric of a cell"
    unit = METRICS[name].unit
    if figure.unit != unit and (figure.unit, unit) not in _FACTORS:
        return f"published in {figure.unit}, ours is in {unit}"
    return None


def _noise(figure: Figure, plan: Mapping, ledger: Ledger) -> float:
    """The noise that the article states for one stream, or for several; else the study's band."""
    stated = [f.value / 100 for f in ledger.figures if f.metric == "noise" and f.unit == "%"]
    if not stated:
        return plan["band"].get(figure.metric, plan["band"].get("output_rate", 0.0))
    return min(stated) if (figure.scenario or "").endswith("@1") else max(stated)


def _verdict(low: float | None, high: float | None, noise: float) -> str:
    if low is None or high is None:
        return UNDECIDED
    if 1 - noise <= low and high <= 1 + noise:
        return REPRODUCED
    return DIFFERS if high < 1 - noise or low > 1 + noise else UNDECIDED


def _spelled(name: str, estimate: Estimate, over: float) -> dict[str, float | None]:
    known = estimate.basis == Basis.RUNS.value
    ends = {"_low": estimate.low, "_high": estimate.high} if known else {}
    found = {"": estimate.value} | ends
    return {f"{name}{end}": float(value) / over for end, value in found.items()} | {
        f"{name}{end}": None for end in ("_low", "_high") if not known
    }
