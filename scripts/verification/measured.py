"""What the argument's tables are made of: usable cells, their requests, and estimates in words."""

import math

from verification.claims import by_seed, listed
from verification.study import Row, Study


def spelled(name: str, found: Row, log: bool = True) -> Row:
    """The columns of an estimate, as logarithms or as it is."""
    ends = zip(("", "_low", "_high"), ("value", "low", "high"), strict=True)
    return {
        f"{name}{suffix}": math.exp(found[end]) if log and found[end] is not None else found[end]
        for suffix, end in ends
    }


def seeds_and_basis(found: Row, within: bool = False) -> Row:
    basis = "no interval" if found["low"] is None else "between runs"
    return {"seeds": found["seeds"], "basis": "within one run" if within else basis}


def within_unit(share: Row) -> Row:
    """A share whose interval ends where shares do."""
    if share["low"] is None:
        return share
    return share | {end: min(max(share[end], 0.0), 1.0) for end in ("low", "high")}


def behind(study: Study, arms: list[str], scenarios: list[str]) -> Row:
    """Usable cells of some arms in some scenarios, and whether any is synthetic."""
    places = [(arm, scenario) for arm in dict.fromkeys(arms) for scenario in scenarios]
    cells = [cell for place in places for cell in study.usable[place]]
    return {"cells": [c["cell"] for c in cells], "synthetic": any(c["synthetic"] for c in cells)}


def logs(study: Study, metric: str, arm: str, scenario: str) -> dict[int, float]:
    return by_seed(metric, study.usable[arm, scenario], study.plan["seeds"])


def requests(study: Study, arm: str, scenario: str) -> list[Row]:
    """Complete requests of usable cells."""
    rows = [r for cell in study.usable[arm, scenario] for r in study.requests_of[cell["cell"]]]
    return [row for row in rows if row["error"] is None]


def places(study: Study) -> list[tuple[str, str]]:
    scenarios = [scenario["id"] for scenario in study.plan["scenarios"]]
    return [(arm, scenario) for arm in study.plan["arms"] for scenario in scenarios]


def speculates(study: Study, arm: str) -> bool:
    return study.plan["arms"][arm]["speculation"]["method"] != "none"


def role(study: Study, *roles: str) -> list[str]:
    """The arms that play one of these roles, each once."""
    return list(dict.fromkeys(arm for r in roles for arm in listed(study.plan["roles"].get(r))))
