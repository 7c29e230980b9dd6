"""What it costs beside speed, whether the machine drifted, and what was published of the same."""

import math
from collections.abc import Iterator
from statistics import fmean

from verification.claims import COMPARED_BY_DIFFERENCE, METRICS
from verification.measured import behind, logs, places, role, seeds_and_basis, spelled
from verification.statistics import between, level
from verification.study import Row, Study

# Published quantities that have another name here.
OURS = {"acceptance_length": "al_counter"}
TOLERANCE = 0.05  # how far two ways of measuring energy may differ
UNMEASURED = ("not comparable here", "not runnable here")


def capacity(study: Study) -> Iterator[Row]:
    """Mean capacity over starts, and what it is below that of the arm named beside it."""
    names = {
        "kv_tokens": "kv_pool_tokens",
        "slots": "request_slots",
        "model_memory": "model_memory",
    }
    starts = sorted(study.sessions.values(), key=lambda start: start["started_at"])
    means: dict[str, Row] = {}
    for arm in study.plan["arms"]:
        for ours, name in names.items():
            known = [s[name] for s in starts if s["arm"] == arm and s[name] is not None]
            means.setdefault(arm, {})[ours] = fmean(known) if known else None
    for row in study.table("claims/capacity.parquet"):
        own, base = means[row["arm"]], means.get(row["against"], {}).get("kv_tokens")
        known = base is not None and own["kv_tokens"] is not None
        cost = base - own["kv_tokens"] if known else None
        both = [s["session"] for s in starts if s["arm"] in (row["arm"], row["against"])]
        more = {"arm": row["arm"], "sessions": both}
        yield more | own | {"kv_cost": cost, "kv_share": cost / base if known else None}


def startups(study: Study) -> Iterator[Row]:
    """The first start of an engine in the campaign, and the later ones."""
    starts = sorted(study.sessions.values(), key=lambda start: start["started_at"])
    for engine in {start["engine"] for start in starts}:
        own = [start for start in starts if start["engine"] == engine]
        later = [start["ready_after"] for start in own[1:]]
        yield {
            "engine": engine,
            "arm": own[0]["arm"],
            "cold": own[0]["ready_after"],
            "warm": fmean(later) if later else None,
            "warm_low": min(later, default=None),
            "warm_high": max(later, default=None),
            "starts": len(own),
            "sessions": [start["session"] for start in own],
        }


def energy(study: Study) -> Iterator[Row]:
    """Energy by the card's counter and by integrated samples, and whether every start agrees."""
    for arm, scenario in places(study):
        ways = [logs(study, f"energy_{way}", arm, scenario) for way in ("counter", "trapezoid")]
        cells = [
            cell
            for cell in study.usable[arm, scenario]
            if cell["energy_counter"] is not None or cell["energy_trapezoid"] is not None
        ]
        if not cells:
            continue
        both = [(cell["energy_counter"], cell["energy_trapezoid"]) for cell in cells]
        verdict = "not comparable"
        if all(None not in pair for pair in both):
            apart = any(abs(a - b) > TOLERANCE * max(a, b) for a, b in both)
            verdict = "differ" if apart else "agree"
        counter, samples = ways
        found = {"value": None, "low": None, "high": None, "seeds": 0}
        known = bool(counter and samples)
        if known:
            found = between(samples, counter)
        yield {
            "scenario": scenario,
            "arm": arm,
            "counter": math.exp(level(counter)["value"]) if counter else None,
            "trapezoid": math.exp(level(samples)["value"]) if samples else None,
            "coverage": min(cell["energy_coverage"] for cell in cells),
            "tolerance": TOLERANCE,
            "verdict": verdict,
            **spelled("ratio", found, log=known),
            **seeds_and_basis(found),
            **behind(study, [arm], [scenario]),
        }


def drift(study: Study) -> Iterator[Row]:
    """The reference's first cell beside the same cell again at the end of the campaign."""
    scenario, first = study.plan.get("drift_control"), study.plan["seeds"][0]
    for reference in role(study, "reference"):
        again = study.usable["drift-control", scenario]
        own = [cell for cell in study.usable[reference, scenario] if cell["seed"] == first]
        if again and own:
            before, after = own[0], again[0]
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
                "synthetic": before["synthetic"] or after["synthetic"],
            }


def scoreboard(study: Study) -> Iterator[Row]:
    """What was measured here of each published figure, and the verdict. The published side, and
    which figures no cell could stand beside, rest on the hash of its file."""
    for row in study.table("claims/scoreboard.parquet"):
        metric = OURS.get(row["metric"], row["metric"])
        comparable = row["verdict"] not in UNMEASURED and metric in METRICS
        scenario = study.plan.get("stands_for", {}).get(row["scenario"], row["scenario"])
        values = logs(study, metric, row["arm"], scenario) if comparable else {}
        mine: Row = {"figure": row["figure"], "verdict": row["verdict"]}
        mine |= {
            f"{name}{end}": None for name in ("ours", "ratio") for end in ("", "_low", "_high")
        }
        if not values:
            mine |= {"verdict": "not run"} if comparable else {}
            none = {"cells": [], "synthetic": False, "seeds": 0, "basis": "no interval"}
            yield mine | none
            continue
        found = level(values)
        mine |= spelled("ours", found, log=metric not in COMPARED_BY_DIFFERENCE)
        if otherwise(study, row):
            mine["verdict"] = "definition differs"
        elif row["verdict"] != "definition differs":
            mine["verdict"] = "undecided"
            if row["published"]:
                ends = ((end, mine[f"ours{end}"]) for end in ("", "_low", "_high"))
                mine |= {f"ratio{e}": v if v is None else v / row["published"] for e, v in ends}
                mine["verdict"] = within(mine["ratio_low"], mine["ratio_high"], row["noise"])
        yield mine | seeds_and_basis(found) | behind(study, [row["arm"]], [scenario])


def otherwise(study: Study, row: Row) -> bool:
    """Whether the study says itself that it measures this otherwise than was published."""
    return not {row["arm"], row["scenario"]}.isdisjoint(study.plan.get("differs", {}))


def within(low: float | None, high: float | None, noise: float) -> str:
    """Whether all of an interval lies inside or outside the noise that was published."""
    if low is not None and 1 - noise <= low and high <= 1 + noise:
        return "reproduced"
    apart = low is not None and (high < 1 - noise or low > 1 + noise)
    return "differs" if apart else "undecided"
