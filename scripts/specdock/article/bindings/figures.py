"""Figures by name: a template writes `{% call figure("output-rate") %}Caption.{% endcall %}`."""

from collections.abc import Callable
from functools import partial

from markupsafe import Markup

from specdock.article.bindings.claims import Claims
from specdock.article.bindings.measured import Measured
from specdock.article.bindings.names import Names
from specdock.article.bindings.settings import Settings
from specdock.article.figures import ROLE_COLOURS, Figure, Mark, Panel, Placed, draw
from specdock.article.painters import (
    paint_against,
    paint_curve,
    paint_effects,
    paint_lines,
    paint_ranges,
    paint_steps,
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

        Names: output-rate (by arm and scenario), steps (what they keep against what they cost),
        acceptance (its length against the output rate), load-rate, load-ttft and load-tpot (by
        concurrency), waterfall (the chain's levels), sweep (effects beside the noise), what-if
        (speed-up by imposed acceptance length).
        """
        makers = {
            "output-rate": self._output_rate,
            "steps": self._steps,
            "acceptance": self._acceptance,
            "load-rate": partial(self._load, "output_rate"),
            "load-ttft": partial(self._load, "ttft_median"),
            "load-tpot": partial(self._load, "tpot_median"),
            "waterfall": self._waterfall,
            "sweep": self._sweep,
            "what-if": self._what_if,
        }
        if name not in makers:
            raise self._names.unknown("figure", name, makers)
        figure = makers[name](name)
        if figure is None:
            return Markup("*This figure has no data: nothing that it shows was run.*")
        self._names.figures.append(Placed(figure, caller()))
        # A figure is a paragraph of its own, however closely the template sets it.
        return Markup(f"\n\n\ue002{len(self._names.figures) - 1}\ue003\n\n")

    def _output_rate(self, name: str) -> Figure | None:
        panels = self._panels(with_acceptance=False)
        if not panels:
            return None
        height = 0.8 + 0.24 * max(len(panel.marks) for panel in panels)
        return draw(name, "Output rate by arm and scenario", panels, paint_ranges, height, [])

    def _steps(self, name: str) -> Figure | None:
        """Every speculating arm that counted its steps beside plain decoding."""
        claims, panels = Claims(self._names), []
        cost, length = "cost of a step, plain steps", "acceptance length, tokens"
        for scenario in self._study.scenarios.values():
            marks = []
            for row in claims.claims("steps", scenario=scenario):
                kept, paid = (row.show(column).number for column in ("length", "cost"))
                for number in (kept, paid):
                    self._names.register.use(number)
                marks.append(Mark(row.arm.name, self._colour(row.arm.name), kept, paid))
            if marks:
                panels.append(Panel(scenario.title, marks, None, cost))
        if not panels:
            return None
        title = "What a verification step keeps against what it costs"
        return draw(name, title, panels, paint_against(length, break_even=True), 2.5, [length])

    def _acceptance(self, name: str) -> Figure | None:
        panels = self._panels(with_acceptance=True)
        if not panels:
            return None
        rate = _head("output_rate")
        title = "Acceptance length against output rate"
        return draw(name, title, panels, paint_against(rate), 2.5, [rate])

    def _load(self, metric: str, name: str) -> Figure | None:
        """A panel a series of scenarios that differ in their streams alone."""
        series: dict[str, list[Scenario]] = {}
        for scenario in sorted(self._study.scenarios.values(), key=lambda each: each.streams):
            if self._measured.measured(metric, scenario):
                series.setdefault(scenario.id.rpartition("@")[0], []).append(scenario)
        panels = [
            Panel(title, self._levels(metric, levels), None, "streams")
            for title, levels in series.items()
            if len(levels) > 1
        ]
        if not panels:
            return None
        title = f"{METRICS[metric].label} by concurrency"
        return draw(name, title, panels, paint_lines(_head(metric)), 2.5, [_head(metric)])

    def _levels(self, metric: str, levels: list[Scenario]) -> list[Mark]:
        """Every arm at every concurrency that it has."""
        settings = Settings(self._names)
        marks = []
        for arm in self._study.arms.values():
            for scenario in levels:
                if self._measured.measured(metric, scenario, arm):
                    streams = settings.setting("streams", scenario=scenario).number
                    self._names.register.use(streams)
                    number = self._number(metric, arm, scenario)
                    marks.append(Mark(arm.name, self._colour(arm.name), number, streams))
        return marks

    def _waterfall(self, name: str) -> Figure | None:
        shown = {row["scenario"] for row in self._study.arguments["waterfall"]}
        arms = [self._study.arms[arm] for arm in self._study.plan["chain"]]
        panels = []
        for scenario in self._study.scenarios.values():
            if scenario.id in shown:
                numbers = [self._number("output_rate", arm, scenario) for arm in arms]
                marks = [
                    Mark(arm.name, self._colour(arm.name), number)
                    for arm, number in zip(arms, numbers, strict=True)
                ]
                panels.append(Panel(scenario.title, marks, None, _head("output_rate")))
        if not panels:
            return None
        return draw(
            name, "The chain's output rates", panels, paint_steps, 0.8 + 0.3 * len(arms), []
        )

    def _sweep(self, name: str) -> Figure | None:
        claims = Claims(self._names)
        panels, noise = [], {}
        for scenario in self._study.scenarios.values():
            rows = claims.claims("sweep", scenario=scenario)
            marks = []
            for row in rows:
                number = row.show("effect", "times").number
                self._names.register.use(number)
                marks.append(Mark(row.arm.name, self._colour(row.arm.name), number))
            if rows:
                noise[scenario.title] = rows[0].exact("noise")
                panels.append(Panel(scenario.title, marks, None, "output rate over the base's"))
        if not panels:
            return None
        height = 0.8 + 0.24 * max(len(panel.marks) for panel in panels)
        return draw(name, "Effects on the output rate", panels, paint_effects(noise), height, [])

    def _what_if(self, name: str) -> Figure | None:
        """A panel a scenario; what was published stands in it at its acceptance."""
        claims = Claims(self._names)
        panels, published = [], {}
        families = {row["arm"]: row["arms"] for row in self._study.arguments["what_if"]}
        for scenario in self._study.scenarios.values():
            marks = []
            for row in claims.claims("what_if", scenario=scenario):
                length, speed_up = row.show("length").number, row.show("speed_up", "times").number
                for number in (length, speed_up):
                    self._names.register.use(number)
                marks.append(Mark(row.arm.name, self._colour(row.arm.name), speed_up, length))
            if not marks:
                continue
            panels.append(Panel(scenario.title, marks, 1.0, "imposed acceptance length, tokens"))
            published[scenario.title] = [
                tuple(map(row.exact, ("length", "published_low", "published_high")))
                for row in claims.claims("placed", scenario=scenario, metric="speed-up")
            ]
        if not panels:
            return None
        across = "output rate over plain decoding's"
        paint = paint_curve(across, families, published)
        return draw(name, "Speed-up by acceptance length", panels, paint, 2.5, [across])

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
