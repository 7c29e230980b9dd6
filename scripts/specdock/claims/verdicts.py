"""Verdict words, computed from an interval and the band that config fixed before the run.

The band is the range inside which two arms count as equal in practice. An interval wholly inside it
says equivalent, wholly outside it better or worse, anything else undecided (interval inclusion:
Westlake 1976, Schuirmann 1987; Kruschke's region of practical equivalence, 2018). So a sure gain
that may be smaller than the band is not "better", and wide intervals never make arms equal.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from specdock.claims.intervals import LEVEL, Basis, Estimate, Scale, to_working

POWER = 0.8
MOST_SEEDS = 50


class Verdict(StrEnum):
    """What a comparison says; higher and lower where a metric has no better direction."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class Outlook(StrEnum):
    """Whether more seeds would decide an undecided comparison."""

    DECIDED = "decided"
    REACHABLE = "reachable"
    TOO_MANY = "too many seeds"
    UNKNOWABLE = "unknowable"


def verdicts(estimate: Estimate, band: float, higher_is_better: bool | None) -> NDArray[np.str_]:
    """One verdict per comparison.

    `band` is relative for ratios (0.03: from 1/1.03 to 1.03) and absolute for differences. Without
    an interval between runs (one seed) everything is undecided.
    """
    over, under, inside = _sides(estimate, band)
    above = {True: Verdict.BETTER, False: Verdict.WORSE, None: Verdict.HIGHER}[higher_is_better]
    below = {True: Verdict.WORSE, False: Verdict.BETTER, None: Verdict.LOWER}[higher_is_better]
    words = np.select(
        [over, under, inside],
        [above.value, below.value, Verdict.EQUIVALENT.value],
        Verdict.UNDECIDED.value,
    )
    return np.where(estimate.basis == Basis.RUNS, words, Verdict.UNDECIDED.value)


def seeds_to_decide(estimate: Estimate, band: float) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Seeds per arm to add before an undecided comparison is decided with 80 % power, and outlook.

    The true effect is taken to be the estimate and the spread of one run to be the present one:
    the smallest n with (t(0.975, n-1) + t(power, n-1)) * spread / sqrt(n) <= distance from the
    estimate to the nearest edge of the band (Julious 2004). Inside the band both
    edges must hold, hence (1 + power) / 2 there. It is as rough as a spread from few runs is.
    Zero where nothing is to be added; zero and UNKNOWABLE where one run shows no spread, or where
    the prompts make part of the interval, which more runs do not narrow.
    """
    center = to_working(estimate.value, estimate.scale)
    edge = _edge(band, estimate.scale)
    distance = np.abs(np.abs(center) - edge)
    factor = np.divide(
        distance,
        estimate.spread,
        out=np.full(np.shape(distance), np.inf),
        where=estimate.spread > 0,
    )
    n = np.arange(2, MOST_SEEDS + 1)
    needed = np.where(
        np.abs(center) > edge, _fewest(factor, n, POWER), _fewest(factor, n, (1 + POWER) / 2)
    )
    outlook = np.select(
        [
            np.isnan(estimate.spread),
            np.any(_sides(estimate, band), axis=0),
            needed > MOST_SEEDS,
        ],
        [Outlook.UNKNOWABLE.value, Outlook.DECIDED.value, Outlook.TOO_MANY.value],
        Outlook.REACHABLE.value,
    )
    more = np.where(outlook == Outlook.REACHABLE, np.maximum(needed - estimate.runs, 1), 0)
    return more, outlook


def _fewest(factor: NDArray, n: NDArray, power: float) -> NDArray[np.int64]:
    """Smallest of `n` whose required distance, in spreads, is at most `factor`; else one beyond."""
    required = (stdtrit(n - 1, (1 + LEVEL) / 2) + stdtrit(n - 1, power)) / np.sqrt(n)
    return n[0] + np.searchsorted(-required, -factor)


def _edge(band: float, scale: Scale) -> float:
    return float(np.log1p(band)) if scale is Scale.LOG else band


def _sides(estimate: Estimate, band: float) -> tuple[NDArray, NDArray, NDArray]:
    """Whether the interval lies wholly above the band, below it, inside it."""
    edge = _edge(band, estimate.scale)
    low, high = (to_working(end, estimate.scale) for end in (estimate.low, estimate.high))
    return low > edge, high < -edge, (low >= -edge) & (high <= edge)
