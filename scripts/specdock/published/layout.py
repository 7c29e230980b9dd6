"""Tables as the articles print them: rows and columns as data, with the figures of each cell.

A row and a column each say a part of what their cell holds (arms, scenarios, metrics); where both
say it, the column does. What a row is called stands on the row's line of the article, what a column
is called on the caption's; a table that the file at hand lacks has no such lines.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from specdock.plan.models import Model

Line = Annotated[int, Field(ge=1)]


class Heading(Model):
    """A row or a column: its head, and what its cells hold."""

    head: str = Field(description="in the article's words, where the file at hand has the table")
    line: Line | None = Field(None, description="line of a row; its figures stand on it")
    arms: list[str] = []
    scenarios: list[str] = []
    metrics: list[str] = []
    forms: list[str] = []
    named: list[str] = Field([], description="only figures with one of these as a part of the id")
    settings: list[str] = Field([], description="paths of our own arms, as the plan resolves them")


class Layout(Model):
    """A table of an article."""

    caption: str = Field(description="in the article's words, on `line`")
    line: Line = Field(description="line of the column heads; without rows' lines, of the caption")
    columns: list[Heading] = Field(min_length=1)
    rows: list[Heading] = Field(min_length=1)

    @property
    def in_file(self) -> bool:
        """Whether the file at hand prints the table itself."""
        return all(row.line for row in self.rows)

    def words(self) -> Iterator[tuple[str, int]]:
        """Words and the line on which the article must have them."""
        yield self.caption, self.line
        if self.in_file:
            yield from ((column.head, self.line) for column in self.columns)
            yield from ((row.head, row.line) for row in self.rows)

    def names(self, kind: Literal["arms", "scenarios"]) -> set[str]:
        """Every arm or scenario that the table speaks of."""
        return {name for part in [*self.columns, *self.rows] for name in getattr(part, kind)}


def wanted(row: Heading, column: Heading) -> Heading:
    """What the cell of a row and a column holds."""
    said = row.model_dump(exclude_defaults=True) | column.model_dump(exclude_defaults=True)
    return Heading.model_validate(said)


def figures_of(cell: Heading, figures: Sequence) -> list:
    """The figures of a cell in its order; on a line all that fit, elsewhere one of each kind.

    A kind is an arm, a scenario, a metric and a form; a figure printed with more decimals goes
    before one that rounds it, and the end of a range is no figure of a table that is not at hand.
    """
    named = [f for f in figures if not cell.named or set(cell.named) & set(f.id.split("/"))]
    on_line = [f for f in named if cell.line in (f.line, *f.also)] if cell.line else named
    kinds = product(cell.arms or [None], cell.scenarios or [None], cell.metrics, _forms(cell))
    found = []
    for kind in kinds:
        fitting = [f for f in on_line if (f.arm, f.scenario, f.metric, f.form) == kind]
        if cell.line:
            found += fitting
        elif exact := [f for f in fitting if f.bound is None]:
            found.append(max(exact, key=lambda f: f.decimals))
    return found


def _forms(cell: Heading) -> list[str]:
    return cell.forms or ["value"]
