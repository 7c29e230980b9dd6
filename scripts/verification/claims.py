"""Claims: estimates, comparisons with their verdicts, and gates, from the table of cells."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from verification.statistics import LEVEL, between, level, student
from verification.study import ROUNDING, Row, Study, compare_tables


class Metric(NamedTuple):
    """What a metric stands for."""

    label: str
    more_is_better: bool | None
    unit: str
    definition: str


METRICS = {
    "output_rate": Metric("output rate", True, "tok/s", "output_rate.window"),
    "ttft_median": Metric("TTFT", False, "ms", "ttft.content"),
    "tpot_median": Metric("TPOT", False, "ms", "tpot.usage"),
    "latency_median": Metric("latency", False, "ms", "latency.request"),
    "prefill_rate": Metric("prefill rate", True, "tok/s", "prefill.ttft"),
    "al_committed": Metric("acceptance length", None, "tokens", "al.committed"),
    "al_counter": Metric("acceptance length, engine's counters", None, "tokens", "al.counter"),
    "al_req_macro": Metric("acceptance length, mean of requests", None, "tokens", "al.req_macro"),
    "al_tok_per_verify_macro": Metric(
        "tokens per verification step, mean of requests", None, "tokens", "al.tok_per_verify_macro"
    ),
    "al_tok_per_verify_micro": Metric(
        "tokens per verification step, pooled", None, "tokens", "al.tok_per_verify_micro"
    ),
    "acceptance_rate": Metric("acceptance rate", None, "", "acceptance.rate"),
    "step_time": Metric("time per verification step", False, "ms", "step.decode"),
    "accuracy": Metric("share correct", True, "", "accuracy.graded"),
    "correct": Metric("correct", True, "", "correct.graded"),
    "power": Metric("board power", False, "W", "power.board"),
    "tokens_per_joule": Metric("tokens per joule", True, "tok/J", "energy.counter"),
    "joules_per_request": Metric("energy per request", False, "J", "energy.counter"),
    "peak_memory": Metric("peak memory", False, "MiB", "memory.peak"),
    "card_busy": Metric("share of time in which the card ran a kernel", None, "", "card.busy"),
}
COMPARED_BY_DIFFERENCE = {"accuracy", "correct", "acceptance_rate", "card_busy"}
COMPARED_WITH = ("reference", "incumbent", "matched", "control", "candidate")
POWER, MOST_SEEDS = 0.8, 50


def check_claims(study: Study) -> Iterator[str]:
    """Recomputes estimates, comparisons with their verdicts, and gates, from the cells."""
    plan = study.plan
    usable = [cell for cell in study.cells.values() if cell["usable"]]
    behind = study.usable
    scenarios = [scenario["id"] for scenario in plan["scenarios"]]
    estimates, comparisons = [], []
    for metric in METRICS:
        for arm in plan["arms"]:
            for scenario in scenarios:
                if row := estimate(metric, behind[arm, scenario], plan["seeds"]):
                    estimates.append({"metric": metric, "arm": arm, "scenario": scenario} | row)
        for arm, against in pairs_of(plan):
            for scenario in scenarios:
                own, other = behind[arm, scenario], behind[against, scenario]
                if row := comparison(metric, own, other, plan):
                    key = {"metric": metric, "arm": arm, "against": against, "scenario": scenario}
                    comparisons.append(key | row)
    gates = [gate_row(n, gate, usable, plan) for n, gate in enumerate(plan["gates"], 1)]
    where = f"{study.shown}/claims"
    key = ("metric", "arm", "scenario")
    compare_tables(
        f"{where}/estimates.parquet", study.table("claims/estimates.parquet"), estimates, *key
    )
    key = ("metric", "arm", "against", "scenario")
    compare_tables(
        f"{where}/comparisons.parquet", study.table("claims/comparisons.parquet"), comparisons, *key
    )
    compare_tables(f"{where}/gates.parquet", study.table("claims/gates.parquet"), gates, "gate")
    yield (
        f"{len(estimates)} estimates, {len(comparisons)} comparisons and {len(gates)} gates"
        " follow from the cells"
    )


def listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def pairs_of(plan: dict) -> list[tuple[str, str]]:
    """Each arm with the arms of the roles that one compares with, each step of the chain, gates."""
    bases = [arm for role in COMPARED_WITH for arm in listed(plan["roles"].get(role))]
    pairs = [(arm, base) for base in bases for arm in plan["arms"] if arm != base]
    pairs += [(after, before) for before, after in pairwise(plan["chain"])]
    pairs += [(gate["arm"], gate["against"]) for gate in plan["gates"] if gate["against"]]
    return list(dict.fromkeys(pairs))


def by_seed(metric: str, cells: list[Row], seeds: list[int]) -> dict[int, float]:
    """A metric of some cells as it is averaged: its logarithm, or itself for shares and counts."""
    log = metric not in COMPARED_BY_DIFFERENCE
    known = {cell["seed"]: cell[metric] for cell in cells if cell[metric] is not None}
    return {s: math.log(known[s]) if log else float(known[s]) for s in seeds if s in known}


def estimate(metric: str, cells: list[Row], seeds: list[int]) -> Row | None:
    """Mean over starts, geometric for ratios, with Student's interval; None without a value."""
    values = by_seed(metric, cells, seeds)
    if not values:
        return None
    return in_units(metric, level(values)) | {
        "level": LEVEL,
        "definition": METRICS[metric].definition,
        "unit": METRICS[metric].unit,
        "requests": sum(cell["requests"] for cell in cells),
        "cells": [cell["cell"] for cell in cells],
        "synthetic": any(cell["synthetic"] for cell in cells),
    }


def comparison(metric: str, own: list[Row], other: list[Row], plan: dict) -> Row | None:
    """Ratio or difference with its interval, the verdict by the band, and seeds to decide it."""
    a, b = by_seed(metric, own, plan["seeds"]), by_seed(metric, other, plan["seeds"])
    if not a or not b:
        return None
    found, band = between(a, b), plan["band"].get(metric, 0.0)
    form = "difference" if metric in COMPARED_BY_DIFFERENCE else "ratio"
    edge = band if form == "difference" else math.log1p(band)
    word, more, outlook = judge(found, edge, METRICS[metric].more_is_better)
    return in_units(metric, found) | {
        "form": form,
        "definition": METRICS[metric].definition,
        "band": band,
        "verdict": word,
        "seeds_to_decide": more,
        "outlook": outlook,
        "cells": [cell["cell"] for cell in own],
        "against_cells": [cell["cell"] for cell in other],
        "synthetic": any(cell["synthetic"] for cell in (*own, *other)),
    }


def in_units(metric: str, found: Row) -> Row:
    """An interval in the metric's unit, or as a ratio, and the words that go with it."""
    log, known = metric not in COMPARED_BY_DIFFERENCE, found["low"] is not None
    ends = {name: found[name] for name in ("value", "low", "high")}
    if log:
        ends = {name: None if end is None else math.exp(end) for name, end in ends.items()}
    return ends | {
        "spread": found["spread"],
        "seeds": found["seeds"],
        "basis": "between runs" if known else "no interval",
        "method": ("Student, logarithms of runs" if log else "Student, runs") if known else None,
        "reason": None if known else "one engine start: no interval between runs exists",
    }


def judge(found: Row, edge: float, more_is_better: bool | None) -> tuple[str, int, str]:
    """Verdict, seeds that are missing to decide it, and whether more seeds would."""
    center, low, high = found["value"], found["low"], found["high"]
    if low is None:
        return "undecided", 0, "unknowable"
    above, below = {True: ("better", "worse"), False: ("worse", "better")}.get(
        more_is_better, ("higher", "lower")
    )
    if low > edge or high < -edge:
        return above if low > edge else below, 0, "decided"
    if -edge <= low and high <= edge:
        return "equivalent", 0, "decided"
    distance = abs(abs(center) - edge)
    power = POWER if abs(center) > edge else (1 + POWER) / 2
    for n in range(2, MOST_SEEDS + 1):
        reach = (student((1 + LEVEL) / 2, n - 1) + student(power, n - 1)) / math.sqrt(n)
        if reach * found["spread"] <= distance:
            return "undecided", max(n - found["seeds"], 1), "reachable"
    return "undecided", 0, "too many seeds"


def gate_row(number: int, gate: Row, usable: list[Row], plan: dict) -> Row:
    """A threshold of config and what became of it."""
    metric, arm, against, scenario = (gate[k] for k in ("metric", "arm", "against", "scenario"))
    log = metric not in COMPARED_BY_DIFFERENCE
    kind = next(k for k in ("at_least", "at_most", "no_worse_than") if gate[k] is not None)
    both = [c for c in usable if c["scenario"] == scenario and c["arm"] in (arm, against)]
    own, other = ([c for c in both if c["arm"] == name] for name in (arm, against))
    row = {
        "gate": f"gate-{number}",
        "text": f"{METRICS[metric].label} of {arm} on {scenario}"
        + f", against {against}" * bool(against),
        **{"arm": arm, "against": against, "metric": metric, "scenario": scenario},
        "kind": kind,
        "threshold": gate[kind],
        "form": "level" if not against else "ratio" if log else "difference",
        "cells": [cell["cell"] for cell in both],
        "synthetic": any(cell["synthetic"] for cell in both),
        **dict.fromkeys(("value", "low", "high", "margin_over_noise")),
    }
    a, b = by_seed(metric, own, plan["seeds"]), by_seed(metric, other, plan["seeds"])
    if not a or (against and not b):
        return row | {"verdict": "not run", "decided_by": "nothing"}
    found = between(a, b) if against else level(a)
    better = METRICS[metric].more_is_better
    limit = gate[kind]
    if kind == "no_worse_than":
        limit = -abs(limit) if better else abs(limit)
    if log:
        limit = math.log(1 + limit if against else limit)
    sign = 1 if kind == "at_least" or (kind == "no_worse_than" and better) else -1
    margin = sign * (found["value"] - limit)
    row |= {name: in_units(metric, found)[name] for name in ("value", "low", "high")}
    verdict = "passed" if margin >= -ROUNDING else "failed"
    if found["low"] is None:
        return row | {"verdict": verdict, "decided_by": "point estimate only"}
    ends = sorted(sign * (found[end] - limit) for end in ("low", "high"))
    half = (found["high"] - found["low"]) / 2
    row["margin_over_noise"] = margin / half if half > 0 else None
    split = ends[0] < -ROUNDING <= ends[1]
    return row | {"verdict": "not decidable" if split else verdict, "decided_by": "interval"}
