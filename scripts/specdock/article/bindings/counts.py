"""How many there are: of what was planned, and of what was measured."""

from collections.abc import Iterable

from specdock.article.bindings.names import Names
from specdock.article.printed import Link, Number, Printed
from specdock.article.study import Arm, Row, Scenario

PLANNED = ("arms", "scenarios", "seeds", "workloads", "planned_cells")
CELLS = ("cells", "usable", "unusable", "requests")


class Counts:
    """The one binding that counts."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study

    def count(
        self,
        what: str,
        *,
        arm: Arm | str | None = None,
        role: str | None = None,
        scenario: Scenario | str | None = None,
        code: str | None = None,
    ) -> Printed:
        """How many arms, scenarios, seeds, workloads, planned_cells, gates, sessions; or cells,
        usable, unusable, requests (measured), which may be of one arm, scenario or reason code."""
        allowed = (*PLANNED, "gates", "sessions", *CELLS)
        if what not in allowed:
            raise self._names.unknown("thing to count", what, allowed)
        chosen = {
            "arm": self._names.arm(arm, role) if arm is not None or role is not None else None,
            "scenario": self._names.scenario(scenario) if scenario is not None else None,
            "code": code,
        }
        chosen = {key: value for key, value in chosen.items() if value is not None}
        if what in PLANNED:
            return self._add(what, {}, self._planned(what), "plan.json", what)
        if what == "gates":
            return self._add(what, {}, len(self._study.gates), "claims/gates.parquet", "all rows")
        if what == "sessions":
            rows = _select(self._study.sessions.values(), chosen)
            names = tuple(row["session"] for row in rows)
            table = "tables/sessions.parquet"
            return self._add(what, chosen, len(rows), table, "all rows", sessions=names)
        rows = _select(self._study.cells.values(), chosen)
        condition = {"usable": "usable=true", "unusable": "usable=false"}.get(what, "all rows")
        if condition != "all rows":
            rows = [row for row in rows if row["usable"] == (what == "usable")]
        total = sum(row["requests"] for row in rows) if what == "requests" else len(rows)
        cells = tuple(row["cell"] for row in rows)
        return self._add(what, chosen, total, "tables/cells.parquet", condition, cells=cells)

    def _planned(self, what: str) -> int:
        scenarios = self._study.scenarios.values()
        arms, seeds = len(self._study.arms), len(self._study.seeds)
        return {
            "arms": arms,
            "scenarios": len(scenarios),
            "seeds": seeds,
            "workloads": len({scenario.spec["workload"] for scenario in scenarios}),
            "planned_cells": arms * len(scenarios) * seeds,
        }[what]

    def _add(
        self,
        what: str,
        chosen: dict[str, str],
        total: int,
        file: str,
        row: str,
        cells: tuple[str, ...] = (),
        sessions: tuple[str, ...] = (),
    ) -> Printed:
        conditions = [f"{key}={value}" for key, value in chosen.items()]
        number = Number(
            id="/".join(["count", what, *conditions]),
            kind="count",
            title=", ".join([f"count of {what.replace('_', ' ')}", *conditions]),
            link=Link(self._study.file(file), " ".join([*conditions, row])),
            value=total,
            pinned=True,
            method="counted",
            cells=cells,
            sessions=sessions,
        )
        return self._names.register.add(number)


def _select(rows: Iterable[Row], chosen: dict[str, str]) -> list[Row]:
    code = chosen.get("code")
    return [
        row
        for row in rows
        if all(row[key] == value for key, value in chosen.items() if key != "code")
        and (code is None or code in [*(row["reasons"] or []), *(row["remarks"] or [])])
    ]
