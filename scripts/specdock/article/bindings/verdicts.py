"""Verdicts: words that the claims decide, for two arms or for a gate."""

from dataclasses import replace

from specdock.article.bindings.measured import CHANGE, PERCENT_DIGITS, comparison_fields
from specdock.article.bindings.names import Names
from specdock.article.forms import PLAIN, Form
from specdock.article.printed import Label, Link, Number, Printed, TemplateError, here
from specdock.article.study import Arm, Row, Scenario
from specdock.article.words import NOT_APPLICABLE, VERDICTS, verdict_than, verdict_word
from specdock.claims.gates import Outcome
from specdock.tables.schema import METRICS


class Verdict(Printed):
    """A verdict's word, and a question about it for conditions."""

    def __init__(self, printed: Printed, verdict: str):
        super().__init__(printed.number, printed.register)
        self._verdict = verdict

    def among(self, *verdicts: str) -> bool:
        """Whether it is one of these: better, worse, equivalent, undecided, incomparable, ..."""
        self.register.use(self.number)
        return self._verdict in _checked(verdicts)


class Tally:
    """The verdicts of two arms over the scenarios in which they can be compared."""

    def __init__(
        self,
        names: Names,
        metric: str,
        pair: tuple[str, str],
        rows: list[tuple[Scenario, Row]],
    ):
        self._names, self._metric, self._pair, self._rows = names, metric, pair, rows

    def all(self, *verdicts: str) -> bool:
        """Whether there are comparable scenarios and each got one of these verdicts."""
        return bool(self._rows) and len(self.scenarios(*verdicts)) == len(self._rows)

    def any(self, *verdicts: str) -> bool:
        """Whether some scenario got one of these verdicts."""
        return bool(self.scenarios(*verdicts))

    @property
    def kinds(self) -> list[str]:
        """The verdicts that some scenario got, from better to worse."""
        return [kind for kind in VERDICTS if self.any(kind)]

    def scenarios(self, *verdicts: str) -> list[Scenario]:
        """Scenarios with one of these verdicts; every comparable one if none is named."""
        wanted = _checked(verdicts) or VERDICTS
        return [scenario for scenario, row in self._rows if row["verdict"] in wanted]

    def count(self, *verdicts: str) -> Printed:
        """How many scenarios got one of these verdicts, or are comparable."""
        arm, against = self._pair
        which = "+".join(verdicts) or "comparable"
        key = f"metric={self._metric} arm={arm} against={against}"
        number = Number(
            id=f"count/scenarios/{which}/{self._metric}/{arm}:{against}",
            kind="count",
            title=f"scenarios, {which}, {self._metric.replace('_', ' ')}, {arm} against {against}",
            link=Link(
                self._names.study.file("claims/comparisons.parquet"),
                f"{key} verdict={which}" if verdicts else key,
            ),
            value=len(self.scenarios(*verdicts)),
            pinned=True,
            method="counted",
        )
        return self._names.register.add(number)

    @property
    def widest(self) -> Scenario:
        """The scenario with the largest ratio."""
        return max(self._rows, key=lambda pair: pair[1]["value"])[0]

    @property
    def narrowest(self) -> Scenario:
        """The scenario with the smallest ratio."""
        return min(self._rows, key=lambda pair: pair[1]["value"])[0]


class Gate:
    """A threshold fixed before the run, as the claims evaluated it."""

    def __init__(self, names: Names, row: Row):
        self._names, self._row = names, row
        unit = METRICS[row["metric"]].unit
        points = Form(scale=100, signed=True, suffix=" points")
        # Limits of a comparison stand in config as fractions; its estimate is a ratio or a change.
        # What is no worse than 5 % has lost at most that, whichever way the metric counts.
        signed = row["kind"] != "no_worse_than"
        limit = replace(points, signed=signed)
        self._limit, self._value, self._digits = {
            "level": (Form(suffix=f" {unit}".rstrip()),) * 2 + (METRICS[row["metric"]].digits,),
            "ratio": (replace(limit, suffix=" %"), CHANGE, PERCENT_DIGITS),
            "difference": (limit, points, PERCENT_DIGITS),
        }[row["form"]]

    @property
    def text(self) -> Label:
        """What the gate speaks of: metric, arm, scenario, the arm compared with."""
        return Label(self._row["text"])

    @property
    def missed(self) -> bool:
        """Whether it failed."""
        return self._row["verdict"] == Outcome.FAILED

    @property
    def open(self) -> bool:
        """Whether it neither passed nor failed."""
        return self._row["verdict"] not in (Outcome.PASSED, Outcome.FAILED)

    @property
    def kind(self) -> Label:
        """at least, at most, no worse than."""
        return Label(self._row["kind"].replace("_", " "))

    @property
    def threshold(self) -> Printed:
        """The limit, as config fixed it."""
        return self._number("threshold", self._limit, value=self._row["threshold"])

    @property
    def value(self) -> Printed:
        """What was measured, with its interval where there is one."""
        form = replace(self._value, shape="both")
        ends = {key: self._row[key] for key in ("value", "low", "high")}
        return self._number("value", form, **ends)

    @property
    def margin(self) -> Printed:
        """Distance to the limit in units of the noise; negative on the wrong side."""
        return self._number("margin", Form(signed=True), value=self._row["margin_over_noise"])

    @property
    def verdict(self) -> Printed:
        """passed, failed, not decidable, not run."""
        return self._number("verdict", PLAIN, words=self._row["verdict"])

    def _number(self, part: str, form: Form, **fields) -> Printed:
        row = self._row
        if fields.get("value") is None and "words" not in fields:
            fields["words"] = NOT_APPLICABLE
        number = Number(
            id=f"gate/{row['gate']}/{part}",
            kind="gate",
            title=f"{part} of {row['gate']}: {row['text']}",
            link=Link(self._names.study.file("claims/gates.parquet"), f"gate={row['gate']}"),
            form=form,
            form_name=part,
            digits=1 if part == "margin" else self._digits,
            metric=row["metric"],
            arm=row["arm"],
            against=row["against"] or "",
            scenario=row["scenario"],
            definition=METRICS[row["metric"]].definition,
            method=f"decided by {row['decided_by']}" if part == "verdict" else "",
            synthetic=bool(row["synthetic"]),
            cells=tuple(row["cells"] or ()),
            **fields,
        )
        return self._names.register.add(number)


class Verdicts:
    """Bindings of the words in claims/comparisons.parquet and claims/gates.parquet."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study

    def verdict(
        self,
        metric: str,
        *,
        of: Arm | str,
        against: Arm | str,
        scenario: Scenario | str,
        form: str = "word",
    ) -> Verdict:
        """The claim in words.

        Forms: word (`faster`), than (`faster than`, to stand between `is` and an arm),
        seeds_to_decide (how many more starts would decide an undecided one).
        """
        self._names.metric(metric)
        self._names.form(form, dict.fromkeys(("word", "than", "seeds_to_decide"), Form()))
        pair = self._names.arm(of), self._names.arm(against)
        place = self._names.scenario(scenario)
        row = self._study.comparisons.get((metric, *pair, place))
        verdict = row["verdict"] if row else "incomparable"
        values: dict = {
            "words": (verdict_word if form == "word" else verdict_than)(metric, verdict)
        }
        if form == "seeds_to_decide":
            more = row["seeds_to_decide"] if row else None
            values = {"value": more} if more else {"words": NOT_APPLICABLE}
        number = Number(
            **comparison_fields(self._study.file, "verdict", metric, pair, place, form, row),
            **values,
            definition=METRICS[metric].definition,
            pinned=True,
        )
        return Verdict(self._names.register.add(number), verdict)

    def verdicts(self, metric: str, *, of: Arm | str, against: Arm | str) -> Tally:
        """The verdicts of two arms over all scenarios in which they can be compared."""
        self._names.metric(metric)
        pair = self._names.arm(of), self._names.arm(against)
        found = [
            (scenario, self._study.comparisons.get((metric, *pair, scenario.id)))
            for scenario in self._study.scenarios.values()
        ]
        rows = [(scenario, row) for scenario, row in found if row]
        return Tally(self._names, metric, pair, rows)

    def gates(self, *, arm: Arm | None = None) -> list[Gate]:
        """Thresholds fixed before the run, with what became of them; all, or those on one arm."""
        rows = self._study.gates
        return [Gate(self._names, row) for row in rows if arm is None or row["arm"] == arm.name]


def _checked(verdicts: tuple[str, ...]) -> tuple[str, ...]:
    for verdict in verdicts:
        if verdict not in VERDICTS:
            raise TemplateError(
                f"{here()}: unknown verdict\n  found    {verdict}\n  allowed  {', '.join(VERDICTS)}"
            )
    return verdicts
