"""From tables to claims: levels, comparisons of the pairs that matter, gates, and the arguments."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from specdock.claims.arguments import ARGUMENTS
from specdock.claims.arguments.measured import Measured
from specdock.claims.comparisons import compare, levels, scale_of
from specdock.claims.gates import GateResult, Outcome, evaluate, threshold
from specdock.claims.intervals import (
    LEVEL,
    ONE_START,
    Basis,
    Scale,
    difference,
    mean_over_runs,
    ratio,
)
from specdock.claims.pairs import pairs_of
from specdock.claims.schema import COMPARISONS, ESTIMATES, GATES
from specdock.tables.schema import METRICS


def build_claims(plan: Mapping, tables: Path, root: Path, out: Path) -> None:
    """Writes estimates, comparisons, gates and every table of `ARGUMENTS` as Parquet under `out`.

    `plan` is the resolved study; `tables` holds its tables, whose raw files lie under `root`.
    """
    cells = pq.read_table(tables / "cells.parquet").to_pandas()
    claims = {
        "estimates": (_estimates(plan, cells).to_dict("records"), ESTIMATES),
        "comparisons": (_comparisons(plan, cells).to_dict("records"), COMPARISONS),
        "gates": ([_gate(*gate, plan, cells) for gate in enumerate(plan["gates"])], GATES),
    }
    measured = Measured(plan, tables, root)
    claims |= {name: (list(made.rows(measured)), made.schema) for name, made in ARGUMENTS.items()}
    out.mkdir(parents=True, exist_ok=True)
    for name, (rows, schema) in claims.items():
        table = pa.Table.from_pylist(rows, schema)
        pq.write_table(table, out / f"{name}.parquet", compression="zstd")


def _scenarios(plan: Mapping) -> list[str]:
    return [scenario["id"] for scenario in plan["scenarios"]]


def _estimates(plan: Mapping, cells: pd.DataFrame) -> pd.DataFrame:
    frame = levels(cells, METRICS, list(plan["arms"]), _scenarios(plan), plan["seeds"])
    behind = _cells_behind(cells)
    frame = frame.join(behind, on=["arm", "scenario"])
    frame["unit"] = [METRICS[metric].unit for metric in frame["metric"]]
    frame["level"] = LEVEL
    return _finished(frame)


def _comparisons(plan: Mapping, cells: pd.DataFrame) -> pd.DataFrame:
    pairs = pairs_of(plan)
    if not pairs:
        return pd.DataFrame(columns=COMPARISONS.names)
    frame = compare(cells, pairs, plan["band"], METRICS, _scenarios(plan), plan["seeds"])
    behind = _cells_behind(cells)[["cells", "synthetic"]]
    frame = frame.join(behind, on=["arm", "scenario"])
    frame = frame.join(behind.add_prefix("against_"), on=["against", "scenario"])
    frame["synthetic"] |= frame.pop("against_synthetic")
    frame = frame.rename(columns={"kind": "form", "more_seeds": "seeds_to_decide"})
    return _finished(frame)


def _cells_behind(cells: pd.DataFrame) -> pd.DataFrame:
    """Per arm and scenario: the usable cells, their requests, whether synthetic."""
    usable = cells[cells["usable"]]
    return usable.groupby(["arm", "scenario"]).agg(
        cells=("cell", list), requests=("requests", "sum"), synthetic=("synthetic", "any")
    )


def _finished(frame: pd.DataFrame) -> pd.DataFrame:
    """Names the method, and gives the reason where no interval exists."""
    frame = frame.rename(columns={"runs": "seeds"})
    between = frame["basis"] == Basis.RUNS.value
    log = frame["metric"].map(lambda metric: scale_of(metric) is Scale.LOG)
    frame["method"] = log.map({True: "Student, logarithms of runs", False: "Student, runs"})
    frame["method"] = frame["method"].where(between)
    frame["reason"] = frame["method"].isna().map({True: ONE_START, False: None})
    return frame.astype(object).where(frame.notna(), None)


def _gate(index: int, gate: Mapping, plan: Mapping, cells: pd.DataFrame) -> dict:
    metric, arm, against = gate["metric"], gate["arm"], gate["against"]
    kind = next(k for k in ("at_least", "at_most", "no_worse_than") if gate[k] is not None)
    usable = cells[cells["usable"] & (cells["scenario"] == gate["scenario"])]
    values = {
        name: usable[usable["arm"] == name].set_index("seed")[metric].reindex(plan["seeds"])
        for name in (arm, against)
        if name
    }
    scale = scale_of(metric)
    row = {
        "gate": f"gate-{index + 1}",
        "text": gate_text(gate),
        **{key: gate[key] for key in ("arm", "against", "metric", "scenario")},
        "kind": kind,
        "threshold": gate[kind],
        "form": "level" if not against else "ratio" if scale is Scale.LOG else "difference",
        "cells": usable[usable["arm"].isin([arm, against])]["cell"].tolist(),
        "synthetic": bool(usable[usable["arm"].isin([arm, against])]["synthetic"].any()),
    }
    if any(series.isna().all() for series in values.values()):
        return row | {"verdict": "not run", "decided_by": "nothing"}
    if against:
        compared = ratio if scale is Scale.LOG else difference
        estimate = compared(values[arm].to_numpy(float), values[against].to_numpy(float))
    else:
        estimate = mean_over_runs(values[arm].to_numpy(float), scale)
    limit = threshold(
        **{kind: _signed(kind, gate[kind], METRICS[metric].higher_is_better)},
        against=scale if against else None,
        higher_is_better=METRICS[metric].higher_is_better,
    )
    result: GateResult = evaluate(estimate, limit)
    has_interval = estimate.basis == Basis.RUNS
    return row | {
        "value": float(estimate.value),
        "low": float(estimate.low) if has_interval else None,
        "high": float(estimate.high) if has_interval else None,
        "verdict": Outcome(result.outcome).value,
        "decided_by": result.decided_by.value,
        "margin_over_noise": result.margin_over_noise,
    }


def _signed(kind: str, value: float, higher_is_better: bool | None) -> float:
    """`no_worse_than: 2%` allows 2 % in the worse direction, however it is signed in config."""
    if kind != "no_worse_than":
        return value
    return -abs(value) if higher_is_better else abs(value)


def gate_text(gate: Mapping) -> str:
    """A gate as a sentence fragment: what must hold, of which arm, where."""
    label = METRICS[gate["metric"]].label
    place = f"{label} of {gate['arm']} on {gate['scenario']}"
    return f"{place}, against {gate['against']}" if gate["against"] else place
