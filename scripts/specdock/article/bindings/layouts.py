"""The article's tables as it printed them, ready to be filled with published figures and ours."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from specdock.article.bindings.names import Names
from specdock.article.printed import Label
from specdock.article.study import Arm, Scenario
from specdock.published.counterparts import difference, our_metric, our_scenario
from specdock.published.layout import Heading, Layout, figures_of, wanted
from specdock.tables.schema import METRICS, SESSIONS


@dataclass(frozen=True)
class Part:
    """A figure of a cell, by id; its scenario where the cell holds several."""

    figure: str
    scenario: Label


@dataclass(frozen=True)
class Cell:
    """What a cell holds: published figures, and what this study has for the same.

    `ours` are (metric, arm, scenario) of our cells, `starts` (column, arm) of our sessions and
    `settings` (path, arm) of our plan.
    """

    parts: list[Part]
    ours: list[tuple[str, Arm, Scenario]]
    starts: list[tuple[str, Arm]]
    settings: list[tuple[str, Arm]]


@dataclass(frozen=True)
class Table:
    """A table of the article; each row is its head and its cells."""

    caption: Label
    source: Label
    in_file: bool
    notes: list[Label]
    columns: list[Label]
    rows: list[tuple[Label, list[Cell]]]


class Layouts:
    """The binding of the tables under config/published."""

    def __init__(self, names: Names):
        self._study = names.study

    def published_tables(self) -> list[Table]:
        """The article's tables that speak of an arm of this study, with its rows and columns."""
        ledger = self._study.ledger
        tables = ledger.tables if ledger else []
        return [self._table(t) for t in tables if t.names("arms") & self._study.arms.keys()]

    def _table(self, layout: Layout) -> Table:
        spoken = sorted(layout.names("arms")) + sorted(layout.names("scenarios"))
        differences = [self._study.plan["differs"].get(name) for name in spoken]
        return Table(
            caption=Label(layout.caption),
            source=Label(f"{self._study.ledger.article}, line {layout.line}"),
            in_file=layout.in_file,
            notes=[Label(why) for why in dict.fromkeys(differences) if why],
            columns=[Label(column.head) for column in layout.columns],
            rows=[
                (Label(row.head), [self._cell(wanted(row, c)) for c in layout.columns])
                for row in layout.rows
            ],
        )

    def _cell(self, cell: Heading) -> Cell:
        figures = figures_of(cell, self._study.ledger.figures)
        several = len({figure.scenario for figure in figures}) > 1
        arms = [self._study.arms[name] for name in cell.arms if name in self._study.arms]
        return Cell(
            parts=[Part(f.id, Label(f.scenario if several else "")) for f in figures],
            ours=self._ours(cell, arms, figures),
            starts=[
                (metric, arm)
                for metric, arm in product(cell.metrics, arms)
                if metric in SESSIONS.names and self._study.started(arm.name)
            ],
            settings=list(self._settings(cell, arms)),
        )

    def _settings(self, cell: Heading, arms: list[Arm]) -> Iterator[tuple[str, Arm]]:
        """Settings of the arms, each value once."""
        for path in cell.settings:
            values = []
            for arm in arms:
                value = arm.spec
                for key in path.split("."):
                    value = (value or {}).get(key)
                if value not in values:
                    yield path, arm
                values.append(value)

    def _ours(self, cell: Heading, arms: list[Arm], figures: list) -> list:
        """Cells of ours that were measured, but for those that a published figure forbids."""
        plan, found = self._study.plan, []
        for arm, slug, metric in product(arms, cell.scenarios, cell.metrics):
            scenario = self._study.scenarios.get(our_scenario(slug, plan))
            ours = our_metric(metric)
            if scenario is None or (ours, arm.name, scenario.id) not in self._study.estimates:
                continue
            beside = [
                f for f in figures if (f.arm, f.scenario, f.metric) == (arm.name, slug, metric)
            ]
            if not any(difference(f, METRICS[ours].definition, plan) for f in beside):
                found.append((ours, arm, scenario))
        return found
