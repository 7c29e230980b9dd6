"""Shares of correct answers, with prompts taken as a sample and starts as replicates.

A score over two hundred problems is read as ability, so the prompts' own sampling belongs in its
interval; and the same prompts come back in every start, so starts and prompts are crossed, not
nested. The variance of a mean over both comes from the two-way table (Searle, Casella & McCulloch
1992, chapter 4): that between prompts, plus what starts show beyond noise, with Satterthwaite's
degrees of freedom.

Shares near one break the normal interval. Two imagined correct and two wrong prompts mend a share
(Agresti & Coull 1998), one prompt won and one lost mend a paired difference (Bonett & Price 2012,
an interval for McNemar's setting). Both leave the point estimate alone. Where two arms answer
nearly everything alike, the interval covers more often than 95 %: a count of two can do no better.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from specdock.claims.intervals import LEVEL, Basis, Estimate, Scale, StatisticsError


def share(correct: ArrayLike) -> Estimate:
    """Share of true outcomes; [..., runs, prompts] of 0 and 1, every prompt in every run."""
    return _crossed(correct, imagined=(1, 1, 0, 0), bounds=(0, 1))


def share_difference(arm: ArrayLike, against: ArrayLike) -> Estimate:
    """Share of one arm minus the other's, paired by run and prompt; shapes as in `share`."""
    arm, against = np.asarray(arm, dtype=float), np.asarray(against, dtype=float)
    if arm.shape != against.shape:
        raise StatisticsError(
            f"paired answers need the same runs and prompts, found {arm.shape} and {against.shape}"
        )
    return _crossed(arm - against, imagined=(1, -1), bounds=(-1, 1))


def _crossed(outcomes: ArrayLike, imagined: tuple[int, ...], bounds: tuple[int, int]) -> Estimate:
    outcomes = np.asarray(outcomes, dtype=float)
    if np.isnan(outcomes).any():
        raise StatisticsError("a prompt has no grade in some run; keep the prompts graded in all")
    runs = outcomes.shape[-2]
    extra = np.broadcast_to(np.array(imagined), (*outcomes.shape[:-1], len(imagined)))
    center, variance, df = _two_way(np.concatenate([outcomes, extra], axis=-1))
    half = stdtrit(df, (1 + LEVEL) / 2) * np.sqrt(variance)
    value = outcomes.mean((-2, -1))
    basis = Basis.RUNS if runs > 1 else Basis.WITHIN_RUN
    return Estimate(
        value=value,
        low=np.clip(center - half, *bounds),
        high=np.clip(center + half, *bounds),
        spread=np.full(value.shape, np.nan),
        runs=np.full(value.shape, runs),
        basis=np.full(value.shape, basis.value),
        scale=Scale.LINEAR,
    )


def _two_way(y: NDArray[np.float64]) -> tuple[NDArray, NDArray, NDArray]:
    """Mean over runs and prompts, the variance of that mean, and its degrees of freedom."""
    n, p = y.shape[-2:]
    mean = y.mean((-2, -1), keepdims=True)
    by_run, by_prompt = y.mean(-1, keepdims=True), y.mean(-2, keepdims=True)
    prompts = n * ((by_prompt - mean) ** 2).sum((-2, -1)) / (p - 1)
    center = mean[..., 0, 0]
    if n == 1:
        return center, prompts / p, np.full(prompts.shape, p - 1.0)
    runs = p * ((by_run - mean) ** 2).sum((-2, -1)) / (n - 1)
    noise = ((y - by_run - by_prompt + mean) ** 2).sum((-2, -1)) / ((n - 1) * (p - 1))
    # Equal but for rounding is no excess, on any machine.
    seen = runs > noise * (1 + 1e-9)
    variance = prompts + np.where(seen, runs - noise, 0)
    spent = prompts**2 / (p - 1) + np.where(
        seen, runs**2 / (n - 1) + noise**2 / ((n - 1) * (p - 1)), 0
    )
    return center, variance / (n * p), np.maximum(variance**2 / spent, n - 1)
