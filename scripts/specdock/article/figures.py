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
from matplotlib.ticker import MaxNLocator

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
PANEL_WIDTH, LABELLED_POINTS = 3.5, 6
REACH = 2.0  # an interval is drawn as far as this many times the largest value of its panel
_TICKS = {"family": "sans-serif", "size": 8}


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


def paint_ranges(axes: Axes, panel: Panel) -> None:
    """Arms from top to bottom, a dot and its interval each, from zero."""
    _rows(axes, panel)
    places = range(len(panel.marks), 0, -1)
    for place, mark in zip(places, panel.marks, strict=True):
        if mark.number.value is None:
            axes.annotate(
                mark.number.words,
                (0, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                color=SOFT,
                fontsize=7.5,
                style="italic",
            )
            continue
        _dot(axes, mark.number.value, place, mark)
        if mark.number.low is not None:
            ends = mark.number.low, mark.number.high
            axes.plot(ends, (place, place), color=mark.colour, lw=1.6, solid_capstyle="round")
    if panel.base is not None:
        axes.axvline(panel.base, color=FAINT, lw=1, zorder=0)
    axes.set_xlim(0, 1.05 * _most(panel.marks))


def paint_against(y_label: str, break_even: bool = False) -> Callable[[Axes, Panel], None]:
    """One metric against another, a labelled dot an arm, the reference as a level; with
    `break_even` the line on which both are the same."""

    def paint(axes: Axes, panel: Panel) -> None:
        _frame(axes, panel.title, panel.x_label)
        axes.set_ylabel(y_label, color=SOFT, fontsize=8)
        for mark in panel.marks:
            _dot(axes, mark.x.value, mark.number.value, mark)
            if mark.number.low is not None:
                ends = mark.number.low, mark.number.high
                axes.plot((mark.x.value, mark.x.value), ends, color=mark.colour, lw=1.4)
        if panel.base is not None:
            axes.axhline(panel.base, color=FAINT, lw=1, zorder=0)
        axes.margins(x=0.3)
        axes.set_ylim(0, 1.15 * _most(panel.marks))
        if break_even:
            axes.set_xlim(0, 1.3 * max(mark.x.value for mark in panel.marks))
            axes.axline((0, 0), slope=1, color=FAINT, lw=1, zorder=0)
        if len(panel.marks) <= LABELLED_POINTS:
            _name_points(axes, panel.marks)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_locator(MaxNLocator(4))

    return paint


def paint_lines(y_label: str) -> Callable[[Axes, Panel], None]:
    """One metric by concurrency, a line an arm, named at its last point."""

    def paint(axes: Axes, panel: Panel) -> None:
        _frame(axes, panel.title, panel.x_label)
        axes.set_ylabel(y_label, color=SOFT, fontsize=8)
        axes.set_xscale("log", base=2)
        by_arm: dict[str, list[Mark]] = {}
        for mark in panel.marks:
            by_arm.setdefault(mark.arm, []).append(mark)
            _dot(axes, mark.x.value, mark.number.value, mark)
            if mark.number.low is not None:
                ends = mark.number.low, mark.number.high
                axes.plot((mark.x.value, mark.x.value), ends, color=mark.colour, lw=1.4)
        for marks in by_arm.values():
            points = [(mark.x.value, mark.number.value) for mark in marks]
            axes.plot(*zip(*points, strict=True), color=marks[0].colour, lw=1.2)
        axes.set_ylim(0, 1.05 * _most(panel.marks))
        _name_lines(axes, [marks[-1] for marks in by_arm.values()])
        streams = sorted({mark.x.value for mark in panel.marks})
        axes.set_xticks(streams, [f"{value:g}" for value in streams], **_TICKS)
        axes.minorticks_off()
        axes.margins(x=0.3)
        axes.yaxis.set_major_locator(MaxNLocator(4))

    return paint


def paint_curve(
    y_label: str, published: dict[str, list[tuple[float, float, float]]]
) -> Callable[[Axes, Panel], None]:
    """A metric along a rising one, the reference as a level; `published` are bars by panel: where
    they stand, their lower end and their upper end."""

    def paint(axes: Axes, panel: Panel) -> None:
        _frame(axes, panel.title, panel.x_label)
        axes.set_ylabel(y_label, color=SOFT, fontsize=8)
        axes.axhline(panel.base, color=SOFT, lw=0.8, zorder=1)
        bars = published.get(panel.title, [])
        for place, low, high in bars:
            axes.plot(
                (place, place), (low, high), color=FAINT, lw=6, solid_capstyle="butt", zorder=0
            )
        points = sorted((mark.x.value, mark.number.value) for mark in panel.marks)
        axes.plot(*zip(*points, strict=True), color=SOFT, lw=1, zorder=2)
        for mark in panel.marks:
            _dot(axes, mark.x.value, mark.number.value, mark)
            if mark.number.low is not None:
                ends = mark.number.low, mark.number.high
                axes.plot((mark.x.value, mark.x.value), ends, color=mark.colour, lw=1.4)
        tops = [mark.number.high or mark.number.value for mark in panel.marks]
        axes.set_ylim(0, 1.1 * max([*tops, *(high for *_, high in bars)]))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_locator(MaxNLocator(4))

    return paint


def _name_lines(axes: Axes, ends: list[Mark]) -> None:
    """Names to the right of the last points, pushed apart where lines end together."""
    top = axes.get_ylim()[1]
    place = -top
    for mark in sorted(ends, key=lambda mark: mark.number.value):
        place = max(mark.number.value, place + 0.075 * top)
        axes.annotate(
            mark.arm,
            (mark.x.value, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=mark.colour,
        )


def paint_steps(axes: Axes, panel: Panel) -> None:
    """A chain from top to bottom: a bar from the level of the arm before to that of this arm."""
    _rows(axes, panel)
    before = 0.0
    for place, mark in zip(range(len(panel.marks), 0, -1), panel.marks, strict=True):
        level = mark.number.value
        bar = axes.barh(place, level - before, left=before, height=0.5, color=mark.colour)
        bar.patches[0].set_alpha(0.35)
        _dot(axes, level, place, mark)
        if mark.number.low is not None:
            ends = mark.number.low, mark.number.high
            axes.plot(ends, (place, place), color=mark.colour, lw=1.6, solid_capstyle="round")
        before = level
    axes.set_xlim(0, 1.05 * _most(panel.marks))


def paint_effects(noise: dict[str, float]) -> Callable[[Axes, Panel], None]:
    """Ratios to a base from top to bottom; `noise` is half the width of each panel's band."""

    def paint(axes: Axes, panel: Panel) -> None:
        _rows(axes, panel)
        band = noise.get(panel.title)
        if band:
            axes.axvspan(1 / (1 + band), 1 + band, color=FAINT, alpha=0.5, lw=0, zorder=0)
        axes.axvline(1, color=SOFT, lw=0.8, zorder=1)
        for place, mark in zip(range(len(panel.marks), 0, -1), panel.marks, strict=True):
            _dot(axes, mark.number.value, place, mark)
            if mark.number.low is not None:
                ends = mark.number.low, mark.number.high
                axes.plot(ends, (place, place), color=mark.colour, lw=1.6, solid_capstyle="round")
        axes.margins(x=0.08)
        axes.set_xlim(right=min(axes.get_xlim()[1], 1.08 * _most(panel.marks)))

    return paint


def _most(marks: list[Mark]) -> float:
    """Where the axis of a panel ends: at its longest interval, which may be absurdly long after few
    starts, or where the values need it."""
    values = [mark.number.value for mark in marks if mark.number.value is not None]
    ends = [mark.number.high for mark in marks if mark.number.high is not None]
    largest = max(values, default=1)
    return min(max([*ends, largest]), REACH * largest)


def _rows(axes: Axes, panel: Panel) -> None:
    """Arms from top to bottom."""
    _frame(axes, panel.title, panel.x_label)
    places = range(len(panel.marks), 0, -1)
    axes.set_yticks(list(places), [mark.arm for mark in panel.marks], **_TICKS)
    axes.set_ylim(0.4, len(panel.marks) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _name_points(axes: Axes, marks: list[Mark]) -> None:
    """Names beside the dots, alternating above and below so that neighbours stay apart."""
    ordered = sorted(marks, key=lambda mark: (mark.x.value, mark.number.value))
    for position, mark in enumerate(ordered):
        axes.annotate(
            mark.arm,
            (mark.x.value, mark.number.value),
            xytext=(0, 9 if position % 2 == 0 else -9),
            textcoords="offset points",
            ha="center",
            va="bottom" if position % 2 == 0 else "top",
            fontsize=7.5,
            color=mark.colour,
        )


def _frame(axes: Axes, title: str, x_label: str) -> None:
    axes.set_title(title, loc="left", fontsize=9, color=INK)
    axes.set_xlabel(x_label, color=SOFT, fontsize=8)
    axes.tick_params(colors=SOFT, labelsize=8, length=3)
    # A factor beside the axis would be a number that nothing binds.
    axes.ticklabel_format(style="plain", useOffset=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


def _dot(axes: Axes, x: float, y: float, mark: Mark) -> None:
    face = mark.colour if mark.number.low is not None else "none"
    (line,) = axes.plot(x, y, "o", ms=5.5, mfc=face, mec=mark.colour, zorder=3)
    line.set_url(mark.number.address)


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
