"""Measured numbers: a metric of one arm, and ratios and differences of two."""

from collections.abc import Callable

from specdock.article.bindings.names import Names
from specdock.article.forms import Form
from specdock.article.printed import Link, Number, Printed
from specdock.article.study import Arm, Row, Scenario
from specdock.article.words import (
    NOT_APPLICABLE,
    NOT_COMPARABLE,
    NOT_RUN,
    UNUSABLE,
    meaning,
)

RATIO_DIGITS, PERCENT_DIGITS = 2, 1
PERCENT = Form(scale=100, suffix=" %")
CHANGE = Form(offset=1, scale=100, signed=True, suffix=" %")


class Measured:
    """Bindings of claims/estimates.parquet and claims/comparisons.parquet."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study

    def n(
        self,
        metric: str,
        *,
        scenario: Scenario | str,
        arm: Arm | str | None = None,
        role: str | None = None,
        form: str = "value",
        digits: int | None = None,
    ) -> Printed:
        """A measured metric of one arm in one scenario.

        Forms: value, with_unit, interval, with_interval, spread (lowest to highest start); of a
        share: percent, percent_interval, percent_with_interval. `digits` pins the decimals; without
        it they grow as far as a ratio beside the value needs.
        """
        known = self._names.metric(metric)
        forms = {
            "value": Form(),
            "with_unit": Form(suffix=f" {known.unit}".rstrip()),
            "interval": Form("interval"),
            "with_interval": Form("both"),
            "percent": PERCENT,
            "percent_with_interval": Form("both", scale=100, suffix=" %"),
            "percent_interval": Form("interval", scale=100, suffix=" %"),
            "spread": Form("interval"),
        }
        made = self._names.form(form, forms)
        name, place = self._names.arm(arm, role), self._names.scenario(scenario)
        row = self._study.estimates.get((metric, name, place))
        cells = self._study.cells_of.get((name, place), [])
        values = {"words": _absence(cells)}
        if row:
            values = _values(row) if form != "spread" else _spread(metric, cells)
        number_id = "/".join([metric, name, place, *([form] if form != "value" else [])])
        number = Number(
            id=number_id if digits is None else f"{number_id}/{digits}",
            kind="spread" if form == "spread" else "estimate",
            title=f"{known.label}, {name}, {place}",
            link=Link(
                self._study.file("claims/estimates.parquet"),
                f"metric={metric} arm={name} scenario={place}",
            ),
            form=made,
            form_name=form,
            level=row["level"] if row and form != "spread" else None,
            digits=_least(known.digits, made) if digits is None else digits,
            pinned=digits is not None,
            metric=metric,
            arm=name,
            scenario=place,
            definition=known.definition,
            unit=known.unit,
            seeds=row["seeds"] if row else None,
            requests=int(row["requests"]) if row else None,
            reason=(row["reason"] or "") if row else self._why(metric, name, cells),
            synthetic=bool(row and row["synthetic"]),
            cells=tuple(row["cells"] if row else (cell["cell"] for cell in cells)),
            **({"method": (row["method"] or "") if row else ""} | values),
        )
        return self._names.register.add(number)

    def ratio(
        self,
        metric: str,
        *,
        of: Arm | str,
        to: Arm | str,
        scenario: Scenario | str,
        form: str = "times",
        digits: int | None = None,
    ) -> Printed:
        """One arm's (or role's) metric over another's, where the claims compare it by ratio.

        Forms: times, with_interval, interval, percent (the change), percent_interval.
        """
        forms = {
            "times": Form(suffix="×"),
            "with_interval": Form("both", suffix="×"),
            "interval": Form("interval", suffix="×"),
            "percent": CHANGE,
            "percent_interval": Form("interval", 1, 100, True, " %"),
        }
        made = self._names.form(form, forms)
        return self._compared("ratio", metric, of, to, scenario, form, made, RATIO_DIGITS, digits)

    def difference(
        self,
        metric: str,
        *,
        of: Arm | str,
        to: Arm | str,
        scenario: Scenario | str,
        form: str = "with_unit",
        digits: int | None = None,
    ) -> Printed:
        """One arm's (or role's) metric less another's, of a share or a count.

        Forms: with_unit, value, interval, points (of a share), points_interval.
        """
        known = self._names.metric(metric)
        forms = {
            "with_unit": Form(signed=True, suffix=f" {known.unit}".rstrip()),
            "value": Form(signed=True),
            "interval": Form("interval", signed=True),
            "points": Form(scale=100, signed=True, suffix=" points"),
            "points_interval": Form("interval", scale=100, signed=True, suffix=" points"),
        }
        made = self._names.form(form, forms)
        return self._compared(
            "difference", metric, of, to, scenario, form, made, known.digits, digits
        )

    def measured(self, metric: str, scenario: Scenario | str, arm: Arm | str | None = None) -> bool:
        """Whether the claims hold a value of a metric in a scenario, of one arm or of any."""
        self._names.metric(metric)
        place = self._names.scenario(scenario)
        names = self._study.arms if arm is None else [self._names.arm(arm)]
        return any((metric, name, place) in self._study.estimates for name in names)

    def measured_anywhere(self, metric: str) -> bool:
        """Whether the claims hold a value of a metric in some scenario."""
        return any(self.measured(metric, scenario) for scenario in self._study.scenarios.values())

    def acceptance(self, scenario: Scenario | str) -> str:
        """The metric of acceptance length that every speculating arm has in a scenario, so that one
        table never mixes definitions."""
        place = self._names.scenario(scenario)
        ran = [
            arm
            for arm in self._study.arms.values()
            if arm.speculates and self.measured("al_counter", place, arm)
        ]
        pooled = all(self.measured("al_committed", place, arm) for arm in ran)
        return "al_committed" if pooled else "al_counter"

    def _compared(
        self,
        kind: str,
        metric: str,
        of: Arm | str,
        to: Arm | str,
        scenario: Scenario | str,
        form: str,
        made: Form,
        least: int,
        digits: int | None,
    ) -> Printed:
        known = self._names.metric(metric)
        arm, other = self._names.arm(of), self._names.arm(to)
        place = self._names.scenario(scenario)
        row = self._study.comparisons.get((metric, arm, other, place))
        if row and row["form"] != kind:
            raise self._names.unknown(f"comparison of {metric}", kind, [row["form"]])
        fields = comparison_fields(self._study.file, kind, metric, (arm, other), place, form, row)
        if digits is not None:
            fields["id"] += f"/{digits}"
        number = Number(
            **fields,
            **(_values(row) if row else {"words": self._incomparable(arm, other, place)}),
            form=made,
            digits=_least(least, made) if digits is None else digits,
            pinned=digits is not None,
            definition=known.definition,
            unit="" if kind == "ratio" else known.unit,
            parts=(f"{metric}/{arm}/{place}", f"{metric}/{other}/{place}"),
        )
        return self._names.register.add(number)

    def _why(self, metric: str, arm: str, cells: list[Row]) -> str:
        """Why there is no value."""
        if not cells:
            return "no cell of this arm was measured here"
        if not any(cell["usable"] for cell in cells):
            return "; ".join(dict.fromkeys(meaning(code) for c in cells for code in c["reasons"]))
        if metric.startswith("al_") and not self._study.arms[arm].speculates:
            return "this arm makes no draft tokens"
        return "the cells have no such figure"

    def _incomparable(self, arm: str, other: str, scenario: str) -> str:
        ran = all(self._study.cells_of.get((name, scenario)) for name in (arm, other))
        return NOT_COMPARABLE if ran else NOT_RUN


def comparison_fields(
    file: Callable[[str], str],
    kind: str,
    metric: str,
    pair: tuple[str, str],
    scenario: str,
    form: str,
    row: Row | None,
) -> dict:
    """What a ratio, a difference and a verdict say alike of the comparison behind them."""
    arm, against = pair
    band = f"; band {row['band']:.3g}" if row and row["band"] else ""
    return {
        "id": f"{metric}/{arm}:{against}/{scenario}/{kind}/{form}",
        "kind": kind,
        "title": f"{metric.replace('_', ' ')}, {arm} against {against}, {scenario}",
        "link": Link(
            file("claims/comparisons.parquet"),
            f"metric={metric} arm={arm} against={against} scenario={scenario}",
        ),
        "form_name": form,
        "metric": metric,
        "arm": arm,
        "against": against,
        "scenario": scenario,
        "seeds": row["seeds"] if row else None,
        "method": f"{row['method'] or ''}{band}" if row else "",
        "reason": (row["reason"] or "") if row else "the claims hold no comparison of these here",
        "synthetic": bool(row and row["synthetic"]),
        "cells": tuple(row["cells"] or ()) if row else (),
        "against_cells": tuple(row["against_cells"] or ()) if row else (),
    }


def _values(row: Row) -> dict:
    return {"value": row["value"], "low": row["low"], "high": row["high"]}


def _spread(metric: str, cells: list[Row]) -> dict:
    known = [cell[metric] for cell in cells if cell["usable"] and cell[metric] is not None]
    return {"low": min(known), "high": max(known), "method": "smallest to largest start"}


def _absence(cells: list[Row]) -> str:
    if not cells:
        return NOT_RUN
    return NOT_APPLICABLE if any(cell["usable"] for cell in cells) else UNUSABLE


def _least(digits: int, made: Form) -> int:
    return digits if made.scale == 1 else PERCENT_DIGITS
