"""Claims of the argument, row by row: any table of `ARGUMENTS`, column by column."""

from collections.abc import Sequence

from specdock.article.bindings.measured import CHANGE, PERCENT, PERCENT_DIGITS, RATIO_DIGITS
from specdock.article.bindings.names import Names
from specdock.article.forms import Form, least_digits
from specdock.article.printed import Link, Number, Printed
from specdock.article.study import Arm, Row, Scenario
from specdock.article.words import NOT_APPLICABLE, verdict_word
from specdock.claims.arguments import ARGUMENTS
from specdock.claims.verdicts import Verdict

_POINTS = Form(scale=100, signed=True, suffix=" points")


class Claim:
    """A row of one table; its columns are those of the table's schema."""

    def __init__(self, names: Names, table: str, row: Row):
        self._names, self._table, self._row = names, table, row

    @property
    def arm(self) -> Arm:
        """The arm that the row speaks of."""
        return self._names.study.arms[self._row["arm"]]

    @property
    def against(self) -> Arm:
        """The arm that it is compared with."""
        return self._names.study.arms[self._row["against"]]

    @property
    def told(self) -> bool:
        """Whether the row, a step of the chain, has a share of the whole."""
        return self._row["share"] is not None

    @property
    def earns(self) -> bool:
        """Whether the row, the cost of a step, surely keeps more than it costs."""
        return self.over("worth_low", 1)

    @property
    def costs(self) -> bool:
        """Whether it surely keeps less."""
        return self.has("worth_high") and self._row["worth_high"] < 1

    @property
    def explained(self) -> bool:
        """Whether the row's output rate is what its steps predict."""
        return self._row["verdict"] == Verdict.EQUIVALENT

    @property
    def short(self) -> bool:
        """Whether it surely is below that."""
        return self._row["verdict"] == Verdict.WORSE

    @property
    def beyond(self) -> bool:
        """Whether it surely is above that."""
        return self._row["verdict"] == Verdict.BETTER

    @property
    def queues(self) -> bool:
        """Whether the row has fewer request slots than streams."""
        return self._row["slots"] < self._row["streams"]

    @property
    def leader(self) -> Arm:
        """The arm that leads where the row begins."""
        return self._names.study.arms[self._row["leads"]]

    @property
    def follower(self) -> Arm:
        """The other arm."""
        return self.against if self.leader.name == self._row["arm"] else self.arm

    @property
    def scenario(self) -> Scenario:
        """The scenario that the row speaks of."""
        return self._names.study.scenarios[self._row["scenario"]]

    def has(self, column: str) -> bool:
        """Whether a column has a value, for conditions."""
        return self._row[self._known(column)] is not None

    def among(self, column: str, *values: object) -> bool:
        """Whether a column has one of these values, for conditions."""
        return self._row[self._known(column)] in values

    def exact(self, column: str) -> float | None:
        """A column's value itself, for a figure to draw."""
        return self._row[self._known(column)]

    def over(self, column: str, limit: float) -> bool:
        """Whether a column lies over a limit, for conditions."""
        return self.has(column) and self._row[column] > limit

    def show(self, column: str, form: str = "value") -> Printed:
        """A column's figure or text.

        Forms: value, whole, with_unit, interval, with_interval; of a share percent and
        percent_with_interval, of a difference of shares points and points_with_interval; of a ratio
        times, times_with_interval, change and change_with_interval.
        """
        found = self._row[self._known(column)]
        if isinstance(found, str):
            return self._number(column, words=found)
        unit = ARGUMENTS[self._table].schema.field(column).metadata[b"unit"].decode()
        suffix = f" {unit}".rstrip()
        percent, times = PERCENT.suffix, "×"
        forms = {
            "value": Form(),
            "whole": Form(),
            "with_unit": Form(suffix=suffix),
            "interval": Form("interval"),
            "with_interval": Form("both"),
            "percent": PERCENT,
            "percent_with_interval": Form("both", scale=100, suffix=percent),
            "points": _POINTS,
            "points_with_interval": Form("both", scale=100, signed=True, suffix=_POINTS.suffix),
            "times": Form(suffix=times),
            "times_with_interval": Form("both", suffix=times),
            "change": CHANGE,
            "change_with_interval": Form("both", 1, 100, True, percent),
        }
        made = self._names.form(form, forms)
        ends = {end: self._row.get(f"{column}_{end}") for end in ("low", "high")}
        # An interval may exist around no value: where arms may be level, though none was found.
        shown = ends["high"] if made.shape == "interval" and found is None else found
        if shown is None:
            return self._number(column, form, words=NOT_APPLICABLE)
        digits = _digits(shown, made, form)
        return self._number(column, form, value=found, **ends, form=made, unit=unit, digits=digits)

    def verdict(self, metric: str) -> Printed:
        """The row's verdict, in the words of a metric."""
        return self._number("verdict", words=verdict_word(metric, self._row["verdict"]))

    def _known(self, column: str) -> str:
        if column not in self._row:
            raise self._names.unknown(f"column of {self._table}", column, self._row)
        return column

    def _number(self, column: str, form_name: str = "value", **fields: object) -> Printed:
        row, keys = self._row, ARGUMENTS[self._table].keys
        named = {key: row[key] for key in keys if row[key] is not None}
        description = ARGUMENTS[self._table].schema.field(column).metadata[b"description"].decode()
        number = Number(
            id="/".join([self._table, *map(str, named.values()), column])
            + ("" if form_name == "value" else f"/{form_name}"),
            kind="claim",
            title=", ".join([description, *map(str, named.values())]),
            link=Link(
                self._names.study.file(f"claims/{self._table}.parquet"),
                " ".join(f"{key}={value}" for key, value in named.items()),
            ),
            form_name=form_name,
            pinned=True,
            arm=row.get("arm") or "",
            against=row.get("against") or "",
            scenario=row.get("scenario") or "",
            seeds=row.get("seeds"),
            reason=row.get("reason") or "",
            synthetic=bool(row.get("synthetic")),
            cells=tuple(row.get("cells") or ()),
            sessions=tuple(row.get("sessions") or ()),
            **fields,
        )
        return self._names.register.add(number)


class Claims:
    """The binding that gives the rows of an argument."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study

    def claims(self, table: str, **where: object) -> list[Claim]:
        """The rows of a table of the argument whose columns have these values; an arm or scenario
        stands for its name, a list for any of its members."""
        if table not in ARGUMENTS:
            raise self._names.unknown("table of claims", table, ARGUMENTS)
        for column in where:
            if column not in ARGUMENTS[table].schema.names:
                raise self._names.unknown(
                    f"column of {table}", column, ARGUMENTS[table].schema.names
                )
        wanted = {column: _names_of(value) for column, value in where.items()}
        return [
            Claim(self._names, table, row)
            for row in self._study.arguments[table]
            if all(row[column] in values for column, values in wanted.items())
        ]


def _names_of(value: object) -> list:
    things = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [
        thing.name if isinstance(thing, Arm) else thing.id if isinstance(thing, Scenario) else thing
        for thing in things
    ]


def _digits(value: float, form: Form, name: str) -> int:
    if isinstance(value, int) or name == "whole":
        return 0
    if form.scale != 1:
        return PERCENT_DIGITS
    return RATIO_DIGITS if name.startswith("times") else min(least_digits(value, 0), 6)
