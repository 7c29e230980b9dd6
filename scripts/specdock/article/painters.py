"""What is painted into a panel: ranges, one metric against another, lines, curves, steps, effects.

A filled dot has an interval, a hollow one has none.
"""

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from specdock.article.figures import FAINT, INK, SOFT, Mark, Panel

LABELLED_POINTS = 6
REACH = 2.0  # an interval is drawn as far as this many times the largest value of its panel
_TICKS = {"family": "sans-serif", "size": 8}


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
        _range(axes, mark, place)
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
            _point(axes, mark)
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
            _point(axes, mark)
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
    y_label: str,
    families: dict[str, str],
    published: dict[str, list[tuple[float, float, float]]],
) -> Callable[[Axes, Panel], None]:
    """A metric along a rising one, the reference as a level; arms of one family are joined, and an
    arm alone in its own is named. `published` are bars by panel: where they stand, their lower end
    and their upper end."""

    def paint(axes: Axes, panel: Panel) -> None:
        _frame(axes, panel.title, panel.x_label)
        axes.set_ylabel(y_label, color=SOFT, fontsize=8)
        axes.axhline(panel.base, color=SOFT, lw=0.8, zorder=1)
        bars = published.get(panel.title, [])
        for place, low, high in bars:
            axes.plot(
                (place, place), (low, high), color=FAINT, lw=6, solid_capstyle="butt", zorder=0
            )
        joined: dict[str, list[Mark]] = {}
        for mark in sorted(panel.marks, key=lambda mark: mark.x.value):
            joined.setdefault(families[mark.arm], []).append(mark)
            _point(axes, mark)
        for marks in joined.values():
            points = [(mark.x.value, mark.number.value) for mark in marks]
            axes.plot(*zip(*points, strict=True), color=SOFT, lw=1, zorder=2)
        tops = [mark.number.high or mark.number.value for mark in panel.marks]
        axes.set_ylim(0, 1.1 * max([*tops, *(high for *_, high in bars)]))
        _name_points(axes, [marks[0] for marks in joined.values() if len(marks) == 1])
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
        _range(axes, mark, place)
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
            _range(axes, mark, place)
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
    """Names above the dots, or below where the nearest neighbour stands higher."""
    for mark in marks:
        others = [other for other in marks if other is not mark]
        beside = min(others, key=lambda other: abs(other.x.value - mark.x.value), default=mark)
        above = mark.number.value >= beside.number.value
        axes.annotate(
            mark.arm,
            (mark.x.value, mark.number.value),
            xytext=(0, 9 if above else -9),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
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


def _range(axes: Axes, mark: Mark, place: int) -> None:
    """A dot in its row, and its interval along it."""
    _dot(axes, mark.number.value, place, mark)
    if mark.number.low is not None:
        ends = mark.number.low, mark.number.high
        axes.plot(ends, (place, place), color=mark.colour, lw=1.6, solid_capstyle="round")


def _point(axes: Axes, mark: Mark) -> None:
    """A dot at its place, and its interval upright through it."""
    _dot(axes, mark.x.value, mark.number.value, mark)
    if mark.number.low is not None:
        ends = mark.number.low, mark.number.high
        axes.plot((mark.x.value, mark.x.value), ends, color=mark.colour, lw=1.4)


def _dot(axes: Axes, x: float, y: float, mark: Mark) -> None:
    face = mark.colour if mark.number.low is not None else "none"
    (line,) = axes.plot(x, y, "o", ms=5.5, mfc=face, mec=mark.colour, zorder=3)
    line.set_url(mark.number.address)
