"""Figures by name: a template writes `{% call figure("output-rate") %}Caption.{% endcall %}`."""

from collections.abc import Callable

from markupsafe import Markup

from specdock.article.bindings.measured import Measured
from specdock.article.bindings.names import Names
from specdock.article.figures import (
    ROLE_COLOURS,
    Figure,
    Mark,
    Panel,
    Placed,
    draw,
    paint_against,
    paint_ranges,
)
from specdock.article.printed import Number
from specdock.article.study import Arm, Scenario
from specdock.tables.schema import METRICS


class Figures:
    """The binding that draws."""

    def __init__(self, names: Names):
        self._names, self._study, self._measured = names, names.study, Measured(names)

    def figure(self, name: str, caller: Callable[[], Markup]) -> Markup:
        """A figure by name, with the call block as its caption; what was not run is said.

        Names: output-rate (by arm and scenario), acceptance (its length against the output rate).
        """
        makers = {"output-rate": self._output_rate, "acceptance": self._acceptance}
        if name not in makers:
            raise self._names.unknown("figure", name, makers)
        figure = makers[name](name)
        if figure is None:
            return Markup("*This figure has no data: nothing that it shows was run.*")
        self._names.figures.append(Placed(figure, caller()))
        return Markup(f"\ue002{len(self._names.figures) - 1}\ue003")

    def _output_rate(self, name: str) -> Figure | None:
        panels = self._panels(with_acceptance=False)
        if not panels:
            return None
        height = 0.8 + 0.24 * max(len(panel.marks) for panel in panels)
        return draw(name, "Output rate by arm and scenario", panels, paint_ranges, height, [])

    def _acceptance(self, name: str) -> Figure | None:
        panels = self._panels(with_acceptance=True)
        if not panels:
            return None
        rate = _head("output_rate")
        title = "Acceptance length against output rate"
        return draw(name, title, panels, paint_against(rate), 2.5, [rate])

    def _panels(self, with_acceptance: bool) -> list[Panel]:
        """A panel a scenario that has something to show."""
        panels = []
        for scenario in self._study.scenarios.values():
            length = self._measured.acceptance(scenario) if with_acceptance else None
            if self._measured.measured(length or "output_rate", scenario):
                label = _head(length or "output_rate")
                marks = self._marks(scenario, length)
                panels.append(Panel(scenario.title, marks, self._base(scenario), label))
        return panels

    def _marks(self, scenario: Scenario, length: str | None) -> list[Mark]:
        """Every arm, with what kept it from being measured; beside a length, those with both."""
        marks = []
        for arm in self._study.arms.values():
            if length and not self._measured.measured(length, scenario, arm):
                continue
            rate = self._number("output_rate", arm, scenario)
            across = self._number(length, arm, scenario) if length else None
            marks.append(Mark(arm.name, self._colour(arm.name), rate, across))
        return marks

    def _number(self, metric: str, arm: Arm, scenario: Scenario) -> Number:
        number = self._measured.n(metric, arm=arm, scenario=scenario).number
        self._names.register.use(number)
        return number

    def _base(self, scenario: Scenario) -> float | None:
        names = self._names.role("reference")
        row = self._study.estimates.get(("output_rate", names[0], scenario.id)) if names else None
        return row["value"] if row else None

    def _colour(self, arm: str) -> str:
        played = [role for role in ROLE_COLOURS if arm in self._names.role(role)]
        return ROLE_COLOURS[played[0] if played else "sweep"]


def _head(metric: str) -> str:
    return f"{METRICS[metric].label}, {METRICS[metric].unit}"
