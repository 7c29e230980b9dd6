"""Intervals between runs: what another campaign of fresh engine starts would have measured.

The unit of replication is the engine start (Georges, Buytaert & Eeckhout 2007; Kalibera & Jones
2013): prompts are nested in it, and repeating them inside one start tells nothing of the next. So
each start gives one number, its cell's pooled value (tokens over wall time, a median, accepted over
steps), and the interval is Student's over those numbers, on the log scale for ratios and positive
metrics. Prompt noise reaches the interval through the spread of the cells.

Why not the percentile two-level bootstrap: with few clusters it sees (n - 1)/n of the variance
between starts, has no t correction and counts the prompts twice (Davison & Hinkley 1997, section
3.8). At three starts it covers less than 80 % of the time when only starts differ, and 97 % when
they do not; tests/claims/test_coverage.py measures both. A cell pools dozens of prompts, so its
logarithm is close to normal and Student's interval close to exact at any number of starts from two.

What it does not survive: starts whose own speed is skewed (one in ten slow) make the interval of a
level too narrow, since few starts seldom show the rare one. Ratios of arms that share that trait
keep their coverage. Nothing computed from three numbers can mend this; a slow start needs a cause.

Pairing is settled by design, never by the data: two arms that ran the same seeds, start by start in
an interleaved order, are compared start by start; otherwise Welch's interval is used (1947). The
point estimate is the same in both cases, and the ratio of two arms is exactly the ratio of their
printed levels, because a level is the geometric mean over starts.

The workload's prompts are taken as given: both arms answer the same ones, and a cell that lacks one
is unusable, so cells are paired by prompt as they stand. Where prompts stand for more than
themselves (the share of correct answers), `accuracy` adds their sampling.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from specdock.errors import SpecdockError

LEVEL = 0.95


class StatisticsError(SpecdockError):
    """Data that a statistic cannot be computed from."""


class Scale(StrEnum):
    """Where averaging and comparing happen: logarithms give ratios, plain numbers differences."""

    LOG = "log"
    LINEAR = "linear"


ONE_START = "one engine start: no interval between runs exists"


class Basis(StrEnum):
    """What an interval speaks of."""

    RUNS = "between runs"
    WITHIN_RUN = "within one run"
    NONE = "no interval"


@dataclass(frozen=True)
class Estimate:
    """Point estimates with their 95 % intervals: arrays of one shape, scalars included.

    `value`, `low` and `high` are in the metric's unit, or a ratio, or a difference. `spread` is the
    standard deviation of one run on the working scale. `runs` counts starts, those of the smaller
    arm in a comparison. Where `basis` is `NONE`, `low`, `high` and `spread` are NaN: there is no
    interval, which is not the same as a wide one. `spread` is NaN too where prompts, and not runs
    alone, make the interval.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    spread: NDArray[np.float64]
    runs: NDArray[np.int64]
    basis: NDArray[np.str_]
    scale: Scale

    def __getitem__(self, index: object) -> "Estimate":
        arrays = [field.name for field in fields(self) if field.name != "scale"]
        return replace(self, **{name: np.asarray(getattr(self, name)[index]) for name in arrays})

    @property
    def half_width(self) -> NDArray[np.float64]:
        """Half the interval on the working scale (a logarithm for ratios)."""
        return (to_working(self.high, self.scale) - to_working(self.low, self.scale)) / 2


def to_working(values: ArrayLike, scale: Scale) -> NDArray[np.float64]:
    """Values as they are averaged; raises StatisticsError for a logarithm of zero or less."""
    values = np.asarray(values, dtype=float)
    if scale is Scale.LINEAR:
        return values
    if np.any(values <= 0):
        raise StatisticsError(
            f"a ratio needs positive values, found {np.nanmin(values):g}; "
            "compare this metric by difference (Scale.LINEAR)"
        )
    return np.log(values)


def from_working(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    return np.exp(values) if scale is Scale.LOG else values


def around(
    center: ArrayLike,
    variance: ArrayLike,
    df: ArrayLike,
    *,
    spread: ArrayLike,
    runs: ArrayLike,
    scale: Scale,
) -> Estimate:
    """Student's interval on the working scale; no interval where fewer than two runs exist."""
    runs = np.asarray(runs)
    known = runs >= 2
    half = np.where(known, stdtrit(np.maximum(df, 1), (1 + LEVEL) / 2) * np.sqrt(variance), np.nan)
    return Estimate(
        value=from_working(np.asarray(center), scale),
        low=from_working(center - half, scale),
        high=from_working(center + half, scale),
        spread=np.where(known, spread, np.nan),
        runs=runs,
        basis=np.where(known, Basis.RUNS.value, Basis.NONE.value),
        scale=scale,
    )


def mean_over_runs(values: ArrayLike, scale: Scale = Scale.LOG) -> Estimate:
    """Level of a metric: geometric (or arithmetic) mean over runs, the last axis; NaN = no cell."""
    n, mean, variance = _moments(to_working(values, scale))
    return around(mean, _over(variance, n), n - 1, spread=np.sqrt(variance), runs=n, scale=scale)


def ratio(arm: ArrayLike, against: ArrayLike) -> Estimate:
    """How many times the other arm's value this arm reaches; runs on the last axis, seed by seed.

    Both arrays have the same seeds in the same places, NaN where a cell is missing or unusable.
    """
    return _between(arm, against, Scale.LOG)


def difference(arm: ArrayLike, against: ArrayLike) -> Estimate:
    """How far this arm's value lies above the other's; axes as in `ratio`."""
    return _between(arm, against, Scale.LINEAR)


def _between(arm: ArrayLike, against: ArrayLike, scale: Scale) -> Estimate:
    a, b = np.broadcast_arrays(to_working(arm, scale), to_working(against, scale))
    n_a, mean_a, variance_a = _moments(a)
    n_b, mean_b, variance_b = _moments(b)
    runs = np.minimum(n_a, n_b)
    paired = np.all(np.isnan(a) == np.isnan(b), axis=-1)

    variance_paired = _over(_moments(a - b)[2], runs)
    part_a, part_b = _over(variance_a, n_a), _over(variance_b, n_b)
    spent = _over(part_a**2, n_a - 1) + _over(part_b**2, n_b - 1)
    df_welch = np.divide(
        (part_a + part_b) ** 2, spent, out=np.array(n_a + n_b - 2, dtype=float), where=spent > 0
    )

    variance = np.where(paired, variance_paired, part_a + part_b)
    return around(
        mean_a - mean_b,
        variance,
        np.where(paired, runs - 1, df_welch),
        spread=np.sqrt(variance * runs),
        runs=runs,
        scale=scale,
    )


def _moments(x: NDArray[np.float64]) -> tuple[NDArray, NDArray, NDArray]:
    """Count, mean and unbiased variance over the last axis, NaNs left out."""
    present = ~np.isnan(x)
    n = present.sum(-1)
    mean = _over(np.where(present, x, 0).sum(-1), n)
    squares = np.where(present, (x - mean[..., None]) ** 2, 0).sum(-1)
    return n, mean, _over(squares, n - 1)


def _over(numerator: NDArray, denominator: NDArray) -> NDArray[np.float64]:
    """Quotient, NaN where the denominator is not positive."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.full(shape, np.nan), where=denominator > 0)
