"""Shares of correct answers, with prompts taken as a sample and starts as replicates.

A score over two hundred problems is read as ability, so the prompts' own sampling belongs in its
interval; and the same prompts come back in every start, so starts and prompts are crossed, not
nested. The variance of a mean over both comes from the two-way table (Searle, Casella & McCulloch
1992, chapter 4): that between prompts, plus what starts show beyond noise, with Satterthwaite's
degrees of freedom.

That variance says how many independent answers would tell as much (Kish 1965, section 8.2), and the
score interval is that of so many answers, as in surveys (Korn & Graubard 1998): Wilson's (1927) for
a share, Tango's (1998) for a paired difference, whose test of no difference is McNemar's. Both stay
inside their range and have a width where all answers are alike. Where the arms disagree on fewer
than half a dozen prompts no test of this level can call them different, so there the interval of no
difference covers more often than 95 %.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from specdock.claims.intervals import LEVEL, Basis, Estimate, Scale, StatisticsError

# Where outcomes are nearly all alike, few prompts or none show what lasts over runs; so the mean's
# variance is no less than if this much of a prompt lastingly differed. Chosen by simulation
# (tests/claims/test_coverage.py); it matters where fewer than a dozen prompts differ.
_LASTING = 0.7


class _Sample(NamedTuple):
    """Outcomes [..., runs, prompts] as so many independent ones: how many, and the quantile that
    stands for 95 % of them."""

    answers: NDArray[np.float64]
    quantile: NDArray[np.float64]


def share(correct: ArrayLike) -> Estimate:
    """Share of true outcomes; [..., runs, prompts] of 0 and 1, every prompt in every run."""
    correct = _complete(correct)
    n, z = _sample(correct)
    p = correct.mean((-2, -1))
    center = (n * p + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(n * p * (1 - p) + z**2 / 4) / (n + z**2)
    # At 0 and 1 an end is the share itself, but for rounding.
    return _estimate(correct, np.minimum(center - half, p), np.maximum(center + half, p))


def share_difference(arm: ArrayLike, against: ArrayLike) -> Estimate:
    """Share of one arm minus the other's, paired by run and prompt; shapes as in `share`."""
    arm, against = np.asarray(arm, dtype=float), np.asarray(against, dtype=float)
    if arm.shape != against.shape:
        raise StatisticsError(
            f"paired answers need the same runs and prompts, found {arm.shape} and {against.shape}"
        )
    gain = _complete(arm - against)
    n, z = _sample(gain)
    gained, lost = ((sign * gain).clip(0).mean((-2, -1)) for sign in (1, -1))
    return _estimate(gain, *_tango(n, n * gained, n * lost, z))


def _complete(outcomes: ArrayLike) -> NDArray[np.float64]:
    outcomes = np.asarray(outcomes, dtype=float)
    if np.isnan(outcomes).any():
        raise StatisticsError("a prompt has no grade in some run; keep the prompts graded in all")
    return outcomes


def _estimate(outcomes: NDArray, low: NDArray, high: NDArray) -> Estimate:
    value = outcomes.mean((-2, -1))
    runs = outcomes.shape[-2]
    basis = Basis.RUNS if runs > 1 else Basis.WITHIN_RUN
    return Estimate(
        value=value,
        low=low,
        high=high,
        spread=np.full(value.shape, np.nan),
        runs=np.full(value.shape, runs),
        basis=np.full(value.shape, basis.value),
        scale=Scale.LINEAR,
    )


def _sample(y: NDArray[np.float64]) -> _Sample:
    n, p = y.shape[-2:]
    variance, df = _two_way(y)
    # That of a draw without regard to its run and prompt, unbiased for one run.
    alone = y.var((-2, -1)) * p / (p - 1)
    least = _LASTING / p**2
    answers = alone / np.maximum(variance, least)
    answers = np.where(variance > least, answers, np.maximum(answers, p))
    return _Sample(np.clip(answers, 1, n * p), stdtrit(df, (1 + LEVEL) / 2))


def _two_way(y: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """The variance of the mean over runs and prompts, and its degrees of freedom."""
    n, p = y.shape[-2:]
    mean = y.mean((-2, -1), keepdims=True)
    by_run, by_prompt = y.mean(-1, keepdims=True), y.mean(-2, keepdims=True)
    prompts = n * ((by_prompt - mean) ** 2).sum((-2, -1)) / (p - 1)
    if n == 1:
        return prompts / p, np.full(prompts.shape, p - 1.0)
    runs = p * ((by_run - mean) ** 2).sum((-2, -1)) / (n - 1)
    noise = ((y - by_run - by_prompt + mean) ** 2).sum((-2, -1)) / ((n - 1) * (p - 1))
    # Equal but for rounding is no excess, on any machine.
    seen = runs > noise * (1 + 1e-9)
    variance = prompts + np.where(seen, runs - noise, 0)
    spent = prompts**2 / (p - 1) + np.where(
        seen, runs**2 / (n - 1) + noise**2 / ((n - 1) * (p - 1)), 0
    )
    df = np.divide(variance**2, spent, out=np.full(spent.shape, p - 1.0), where=spent > 0)
    return variance / (n * p), np.maximum(df, n - 1)


def _tango(n: NDArray, gained: NDArray, lost: NDArray, z: NDArray) -> tuple[NDArray, NDArray]:
    """Tango's score interval for (gained - lost) / n, without iteration (Yang, Sun & Hardin 2013).

    The differences d whose score statistic is z solve (r + s)^2 = s^2 + 8 n lost d (1 - d) with the
    quadratic r and the linear s below: a polynomial of degree four, of whose roots those with
    r + s >= 0 solve the equation before it was squared.
    """
    scale = 2 / z**2
    r = scale * (n**2 + z**2 * n), -scale * n * (2 * (gained - lost) + z**2)
    r = (*r, scale * (gained - lost) ** 2)
    s = 2 * n - gained + lost, -gained - lost
    quartic = np.array(
        [
            r[0] ** 2,
            2 * (r[0] * r[1] + r[0] * s[0]),
            r[1] ** 2 + 2 * (r[0] * r[2] + r[0] * s[1] + r[1] * s[0]) + 8 * n * lost,
            2 * (r[1] * r[2] + r[1] * s[1] + r[2] * s[0]) - 8 * n * lost,
            r[2] ** 2 + 2 * r[2] * s[1],
        ]
    )
    companion = np.zeros((*np.shape(n), 4, 4))
    companion[..., 0, :] = np.moveaxis(-quartic[1:] / quartic[0], 0, -1)
    companion[..., [1, 2, 3], [0, 1, 2]] = 1
    roots = np.linalg.eigvals(companion)
    d = roots.real
    unsquared = (r[0][..., None] * d + r[1][..., None] + s[0][..., None]) * d
    unsquared = unsquared + r[2][..., None] + s[1][..., None]
    solves = (np.abs(roots.imag) < 1e-6) & (unsquared >= -1e-6 * n[..., None])
    # Where one arm gained or lost every answer, the interval ends at the estimate.
    value = ((gained - lost) / n)[..., None]
    d = np.where(solves & (np.abs(d) <= 1), d, value)
    return np.minimum(d.min(-1), value[..., 0]), np.maximum(d.max(-1), value[..., 0])
