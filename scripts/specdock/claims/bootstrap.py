"""Intervals within one run: what other prompts of the same kind would have given on this start.

Used where a study has a single seed, so that no interval between runs exists, and to see how much
of a run's noise is its prompts. The answer is typed `Basis.WITHIN_RUN` and no verdict accepts it:
it leaves out the difference between engine starts, which is usually the larger part.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import bootstrap

from specdock.claims.intervals import LEVEL, Basis, Estimate, Scale, StatisticsError

_BATCH_VALUES = 2**24  # resampled values held in memory at once

Statistic = Callable[..., NDArray[np.float64]]


def pooled(numerator: NDArray, denominator: NDArray, axis: int = -1) -> NDArray:
    """Sum over sum: tokens over seconds, accepted over steps.

    In a closed loop the wall time is the requests' time shared by the streams, so the relative
    noise of tokens over summed request seconds is that of the output rate.
    """
    return numerator.sum(axis) / denominator.sum(axis)


def median(values: NDArray, axis: int = -1) -> NDArray:
    """The middle request: TTFT, TPOT, latency."""
    return np.median(values, axis)


def ratio_of(statistic: Statistic) -> Statistic:
    """The same statistic of two arms as a ratio; first half of the columns over second half."""

    def compared(*columns: NDArray, axis: int = -1) -> NDArray:
        half = len(columns) // 2
        return statistic(*columns[:half], axis=axis) / statistic(*columns[half:], axis=axis)

    return compared


def within_run(
    statistic: Statistic, *columns: ArrayLike, draws: int = 1000, seed: int = 0
) -> Estimate:
    """Percentile bootstrap over the prompts of one run, [..., prompts] per column.

    A drawn prompt is drawn for every column, so two arms stay paired by prompt; prompts that any
    column lacks (NaN) must be dropped before. `seed` fixes the draws, so a page can be rebuilt.
    """
    data = tuple(np.asarray(column, dtype=float) for column in columns)
    if data[0].shape[-1] < 2:
        raise StatisticsError("a bootstrap over prompts needs at least two prompts, found one")
    if any(np.isnan(column).any() for column in data):
        raise StatisticsError("a prompt has no value in one of the arms; keep the common prompts")
    found = bootstrap(
        data,
        statistic,
        paired=True,
        n_resamples=draws,
        batch=max(1, _BATCH_VALUES // data[0].size),
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    value = np.asarray(statistic(*data))
    return Estimate(
        value=value,
        low=np.asarray(found.low),
        high=np.asarray(found.high),
        spread=np.full(value.shape, np.nan),
        runs=np.ones(value.shape, dtype=int),
        basis=np.full(value.shape, Basis.WITHIN_RUN.value),
        scale=Scale.LOG,
    )
