"""Draws figures as vector graphics whose text stays text: a panel a scenario, a mark a number.

Every mark is a printed number that can be clicked. A figure knows which of its words are names from
the data, so that the lint can judge the rest, and lists what it plots as rows for a download.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from specdock.article.printed import Number
from specdock.tables.schema import METRICS

INK, SOFT, FAINT = "#1d1d1b", "#76736b", "#d8d5cc"
ROLE_COLOURS = {
    "reference": "#77746c",
    "incumbent": "#2f6690",
    "matched": "#5b9ab8",
    "control": "#8a7aa8",
    "candidate": "#b8432f",
    "served": "#c9862b",
    "sweep": "#8f9d6a",
}
CSS_NAMES = {INK: "ink", SOFT: "soft", FAINT: "faint"} | {
    colour: role for role, colour in ROLE_COLOURS.items()
}
PANEL_WIDTH = 3.5  # inches


@dataclass(frozen=True)
class Mark:
    """One arm in one panel: its number, where it stands, its interval and its role's colour."""

    arm: str
    colour: str
    number: Number
    x: Number | None = None


@dataclass(frozen=True)
class Panel:
    """One scenario; `base` is the value of the reference arm, drawn as a line."""

    title: str
    marks: list[Mark]
    base: float | None
    x_label: str


@dataclass(frozen=True)
class Figure:
    """A drawn figure: one SVG a panel for the page, one of all panels for a repository page."""

    name: str
    title: str
    panels: list[str]
    whole: str
    data: str
    labels: frozenset[str]
    plotted: list[Panel]

    @property
    def heads(self) -> list[str]:
        """Names of the columns of what is plotted."""
        mark = self.plotted[0].marks[0]
        return [_head(number) for number in (mark.number, mark.x) if number]

    @property
    def numbers(self) -> list[Number]:
        """Every number that stands in the figure as a mark."""
        marks = [mark for panel in self.plotted for mark in panel.marks]
        return [number for mark in marks for number in (mark.x, mark.number) if number]


@dataclass(frozen=True)
class Placed:
    """A figure with its caption, as a template placed it."""

    figure: Figure
    caption: Markup


def _head(number: Number) -> str:
    """What a column of plotted numbers is called."""
    known = METRICS.get(number.metric)
    return f"{known.label}, {known.unit}" if known else number.title.partition(",")[0]


def draw(
    name: str,
    title: str,
    panels: list[Panel],
    paint: Callable[[Axes, Panel], None],
    height: float,
    words: list[str],
) -> Figure:
    """Draws every panel, and lays all of them out in one drawing.

    `height` is of one panel, in inches; `words` are further names from the data in the drawing.
    """
    drawn = []
    with _style(name):
        box = _frame_of(max(panels, key=_largest), paint, height)
        for panel in panels:
            canvas = Canvas((PANEL_WIDTH, height))
            paint(canvas.add_axes(box), panel)
            drawn.append(_svg(canvas))
    single, whole = [_inline(svg) for svg in drawn], _side_by_side(drawn, height)
    names = {text for panel in panels for text in (panel.title, panel.x_label)}
    names |= {text for p in panels for mark in p.marks for text in (mark.arm, mark.number.words)}
    labels = frozenset(names | set(words))
    return Figure(name, title, single, whole, _data(panels), labels, panels)


def _frame_of(
    panel: Panel, paint: Callable[[Axes, Panel], None], height: float
) -> tuple[float, float, float, float]:
    """Where the axes of a panel must lie to leave room for their words; all panels share it."""
    canvas = Canvas((PANEL_WIDTH, height), layout="constrained")
    axes = canvas.subplots()
    paint(axes, panel)
    canvas.draw_without_rendering()
    return axes.get_position().bounds


def _largest(panel: Panel) -> float:
    """The largest value, which has the widest tick labels."""
    return max(mark.number.value or 0 for mark in panel.marks)


@contextmanager
def _style(salt: str) -> Iterator[None]:
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "text.parse_math": False,
        "axes.linewidth": 0.8,
        "figure.constrained_layout.h_pad": 0.06,
    }
    with mpl.rc_context(settings):
        yield


def _svg(canvas: Canvas) -> str:
    buffer = io.StringIO()
    canvas.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


_HEAD = re.compile(r"<svg [^>]*>")
_STYLE = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
_FAMILY = re.compile(r"'DejaVu Sans', sans-serif")
_NUMBER_LINK = re.compile(r'<a href="#n-([^"]*)"')
_GROUP_ID = re.compile(r'<g id="[^"]*"')


def _inline(svg: str) -> str:
    """For the page: no prolog, no ids but those that the drawing refers to, the page's own fonts
    and colours."""
    svg = _STYLE.sub("", svg[svg.index("<svg") :])
    box = re.search(r'viewBox="[^"]*"', _HEAD.search(svg).group()).group()
    svg = _HEAD.sub(f"<svg {box}>", svg, count=1).replace("xlink:href", "href")
    svg = _NUMBER_LINK.sub(r'<a aria-label="\1" href="#n-\1"', svg)
    svg = _FAMILY.sub("var(--sans)", _GROUP_ID.sub("<g", svg))
    for colour, css in CSS_NAMES.items():
        svg = svg.replace(colour, f"var(--{css})")
    return svg


def _side_by_side(drawn: list[str], height: float) -> str:
    """All panels in one drawing, for a page that shows image files."""
    width, height = PANEL_WIDTH * 72, height * 72
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    body = []
    for place, svg in enumerate(drawn):
        svg = _STYLE.sub("", svg[svg.index("<svg") :])
        x, y = place % columns * width, place // columns * height
        head = f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}">'
        body.append(_HEAD.sub(head, svg, count=1))
    content = "".join(body).replace('xlink:href="#n-', 'xlink:href="../article.html#n-')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' viewBox="0 0 {columns * width:g} {rows * height:g}">\n{content}\n</svg>\n'
    )


def _data(panels: list[Panel]) -> str:
    """The plotted figures as CSV, one row a mark."""
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(["scenario", "arm", "metric", "value", "low", "high", "unit", "number", "x"])
    for panel in panels:
        for mark in panel.marks:
            number = mark.number
            row = [number.scenario, mark.arm, number.metric, number.value, number.low, number.high]
            table.writerow([*row, number.unit, number.id, mark.x.value if mark.x else ""])
    return buffer.getvalue()
