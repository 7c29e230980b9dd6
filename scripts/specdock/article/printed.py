"""Numbers on their way to the page: each is registered under a stable id, with the places that
print it, and stands in the text as a token until all digits are settled."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from specdock.article.forms import PLAIN, Form
from specdock.article.words import ABSENCES, NOT_RUN
from specdock.errors import SpecdockError

TOKEN = re.compile("\ue000(\\d+)\ue001")
BLOCK = re.compile("\ue002(\\d+)\ue003")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


class TemplateError(SpecdockError):
    """A template that cannot be printed as it stands, with file and line."""


@dataclass(frozen=True, order=True)
class Place:
    """A line of a template."""

    template: str
    line: int

    def __str__(self) -> str:
        return f"article/{self.template}:{self.line}"


@dataclass(frozen=True)
class Link:
    """The first link of a chain: the file that holds the value, and the row or key in it."""

    file: str
    row: str


@dataclass(frozen=True)
class Number:
    """A figure or a computed word, exact, with all that its drawer and the ledger say of it."""

    id: str
    kind: str
    title: str
    link: Link
    form: Form = PLAIN
    form_name: str = "value"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    words: str = ""
    digits: int = 0
    pinned: bool = False
    metric: str = ""
    arm: str = ""
    against: str = ""
    scenario: str = ""
    definition: str = ""
    unit: str = ""
    seeds: int | None = None
    requests: int | None = None
    method: str = ""
    reason: str = ""
    synthetic: bool = False
    cells: tuple[str, ...] = ()
    against_cells: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    quotation: str = ""
    source: str = ""

    @property
    def address(self) -> str:
        """The fragment under which the page shares it."""
        return "#n-" + quote(self.id, safe="/@:=+")

    @property
    def group(self) -> tuple[str, ...]:
        """Numbers of one group print the same number of decimals, so that columns align."""
        measured = self.kind == "estimate" and self.metric and self.scenario
        return (self.metric, self.scenario, str(self.form.scale)) if measured else (self.id,)

    def text(self, digits: int) -> str:
        """What the page shows."""
        missing = self.value is None and self.low is None and self.form.shape != "interval"
        if self.words or missing:
            return self.words or NOT_RUN
        return self.form.text(self.value, self.low, self.high, digits)


class Printed:
    """A number in a template: printing it prints its token, testing it counts as using it."""

    def __init__(self, number: Number, register: "Register"):
        self.number, self.register = number, register

    def __html__(self) -> str:
        return f"\ue000{self.register.use(self.number)}\ue001"

    def __str__(self) -> str:
        return self.__html__()

    @property
    def value(self) -> float | None:
        """The exact value, for conditions; None where there is none."""
        self.register.use(self.number)
        return self.number.value

    @property
    def known(self) -> bool:
        """Whether there is anything to print, for conditions."""
        self.register.use(self.number)
        return self.number.words not in ABSENCES

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval, for conditions."""
        self.register.use(self.number)
        return self.number.low is not None


class Label:
    """A name from the plan or the data, escaped for Markdown; it is no number."""

    def __init__(self, text: str):
        self.text = text

    def __html__(self) -> str:
        return as_markdown_text(self.text)

    def __str__(self) -> str:
        return self.__html__()

    def __bool__(self) -> bool:
        return bool(self.text)


class Register:
    """Every number that a template asked for, in the order of asking."""

    def __init__(self) -> None:
        self.numbers: list[Number] = []
        self.places: list[list[Place]] = []
        self._index: dict[str, int] = {}
        self._used: set[int] = set()

    def add(self, number: Number) -> Printed:
        """Registers a number at the template line that is being rendered."""
        index = self._index.setdefault(number.id, len(self.numbers))
        if index == len(self.numbers):
            self.numbers.append(number)
            self.places.append([])
        elif self.numbers[index] != number:
            raise TemplateError(f"{here()}: two different numbers claim the id {number.id}")
        place = here()
        if place not in self.places[index]:
            self.places[index].append(place)
        return Printed(number, self)

    def use(self, number: Number) -> int:
        """Notes that a number was printed or tested; returns its index."""
        index = self._index[number.id]
        self._used.add(index)
        return index

    def find(self, number_id: str) -> Number | None:
        """The number with this id, if a template asked for it."""
        index = self._index.get(number_id)
        return self.numbers[index] if index is not None else None

    def unused(self) -> list[tuple[Number, Place]]:
        """Numbers that a template made and neither printed nor tested."""
        return [
            (number, self.places[index][0])
            for index, number in enumerate(self.numbers)
            if index not in self._used
        ]


def as_markdown_text(text: str) -> str:
    """Text on one line in which Markdown finds no markup, and the page no token."""
    return _SPECIAL.sub(r"\\\1", " ".join(_PRIVATE.sub("", text).split()))


def here() -> Place:
    """The template line that is being rendered; inside a macro, the line that calls it."""
    places = list(_template_lines())
    if not places:
        return Place("?", 0)
    return next((place for place in places if place.template != "macros.j2"), places[0])


def _template_lines() -> Iterator[Place]:
    frame = sys._getframe()
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None and template.name:
            yield Place(template.name, template.get_corresponding_lineno(frame.f_lineno))
        frame = frame.f_back
