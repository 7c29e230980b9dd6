"""Under load: where two arms cross, how much of a wait is queueing, which draft length to use.

Between measured levels everything is interpolated on their logarithm.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specdock.claims.intervals import Basis, Scale, StatisticsError, difference, to_working

_GRID_PER_SEGMENT = 256

Range = tuple[int, int, int]  # first and last number of streams (inclusive), draft tokens


class Crossing(NamedTuple):
    """Level (of streams, say) at which the leader changes; NaN where it does not in the range.

    `low` and `high` are None without an interval between runs, or when the arms are apart in the
    whole range; `open_below` and `open_above` say that the interval runs out of that range.
    """

    level: float
    low: float | None
    high: float | None
    open_below: bool
    open_above: bool


class Waits(NamedTuple):
    """A request's time in seconds by what it waited for, [requests] in order of sending."""

    queue: NDArray[np.float64]
    prefill: NDArray[np.float64]
    decode: NDArray[np.float64]


def crossing(levels: ArrayLike, arm: ArrayLike, against: ArrayLike) -> Crossing:
    """First level at which two arms have the same value, with a 95 % interval.

    `levels`, such as streams, rise; the arms are [levels, runs]. Each run's log ratio is
    interpolated to a fine grid on the levels' logarithms; the interval holds every grid point whose
    own interval for the log ratio includes zero (Fieller's inversion, 1954, on Student's interval
    over runs), so it covers the true crossing as often as one interval covers one ratio, and it is
    honest about having no end.
    """
    logs = np.log(np.asarray(levels, dtype=float))
    if logs.size < 2 or np.any(np.diff(logs) <= 0):
        raise StatisticsError(f"a crossing needs rising levels, found {list(levels)}")
    grid = _grid(logs)
    a, b = (interpolate(logs, to_working(side, Scale.LOG), grid) for side in (arm, against))
    gap = difference(a, b)
    before, after = gap.value[:-1], gap.value[1:]
    turns = np.flatnonzero((before != 0) & (before * after <= 0))
    point = float("nan")
    if turns.size:
        i = turns[0]
        step = before[i] / (before[i] - after[i])
        point = float(np.exp(grid[i] + step * (grid[i + 1] - grid[i])))
    same = (gap.low <= 0) & (gap.high >= 0)
    held = np.append(np.exp(grid[same]), point)
    if np.any(gap.basis == Basis.NONE) or np.isnan(held).all():
        return Crossing(point, None, None, False, False)
    low, high = float(np.nanmin(held)), float(np.nanmax(held))
    return Crossing(point, low, high, bool(same[0]), bool(same[-1]))


def waits(t_send: ArrayLike, t_first: ArrayLike, t_end: ArrayLike, request_slots: int) -> Waits:
    """Queueing, prefill and decoding of each request, from its timestamps and the engine's slots.

    With S slots and first-come service, the i-th request sent (from 0) finds a slot when the
    (i - S + 1)-th request ends, or at once. What is left of its time to first token is prefill.
    """
    t_send, t_first, t_end = (np.asarray(t, dtype=float) for t in (t_send, t_first, t_end))
    order = np.lexsort((t_first, t_send))
    send, first, end = t_send[order], t_first[order], t_end[order]
    start = send.copy()
    late = max(send.size - request_slots, 0)
    start[request_slots:] = np.maximum(start[request_slots:], np.sort(end)[:late])
    start = np.minimum(start, first)
    return Waits(start - send, first - start, end - first)


def queueing_share(found: Waits) -> float:
    """Part of the summed time to first token that was spent waiting for a request slot."""
    return float(found.queue.sum() / (found.queue + found.prefill).sum())


def recommend_schedule(
    streams: Sequence[int], draft_tokens: Sequence[int], rates: ArrayLike, band: float
) -> list[Range]:
    """Draft length by number of streams, from static arms; rates [draft lengths, levels].

    At each number of streams from the first level to the last, the fewest draft tokens whose
    interpolated rate is within the band of the best; below the first level its choice holds.
    """
    choices = _choices(streams, draft_tokens, rates, band)
    turns = np.flatnonzero(np.diff(choices)) + 1
    firsts = [0, *turns.tolist()]
    lasts = [*(turns - 1).tolist(), choices.size - 1]
    return [(a + 1, b + 1, int(choices[a])) for a, b in zip(firsts, lasts, strict=True)]


def schedule_rates(
    schedule: Sequence[Range],
    streams: Sequence[int],
    draft_tokens: Sequence[int],
    rates: ArrayLike,
) -> NDArray[np.float64]:
    """What the static arms promise for a schedule at the measured levels, to set beside its own."""
    rates = np.asarray(rates, dtype=float)
    row = {drafts: i for i, drafts in enumerate(draft_tokens)}
    chosen = [
        next((row[drafts] for first, last, drafts in schedule if first <= level <= last), None)
        for level in streams
    ]
    return np.array(
        [np.nan if i is None else rates[i, j] for j, i in enumerate(chosen)], dtype=float
    )


def _choices(
    streams: Sequence[int], draft_tokens: Sequence[int], rates: ArrayLike, band: float
) -> NDArray[np.int64]:
    order = np.argsort(draft_tokens)
    drafts = np.asarray(draft_tokens)[order]
    every = np.log(np.arange(1, streams[-1] + 1))
    known = to_working(np.asarray(rates, dtype=float)[order], Scale.LOG)
    interpolated = interpolate(np.log(np.asarray(streams, dtype=float)), known.T, every).T
    good = interpolated >= np.nanmax(interpolated, axis=0) - np.log1p(band)
    return drafts[good.argmax(axis=0)]


def _grid(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    parts = [np.linspace(a, b, _GRID_PER_SEGMENT, endpoint=False) for a, b in pairwise(levels)]
    return np.concatenate([*parts, levels[-1:]])


def interpolate(
    levels: NDArray[np.float64], values: NDArray[np.float64], grid: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Piecewise linear along the first axis of values [levels, columns]; flat beyond it."""
    return np.stack([np.interp(grid, levels, column) for column in values.T], axis=1)
