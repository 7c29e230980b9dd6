"""Student's intervals between starts, on the working scale: logarithms, or plain numbers."""

import math
from functools import cache
from statistics import fmean

from verification.study import ROUNDING, Row

LEVEL = 0.95


def between(a: dict[int, float], b: dict[int, float]) -> Row:
    """Difference of means: start by start where both arms have the same seeds, else by Welch."""
    center, runs = fmean(a.values()) - fmean(b.values()), min(len(a), len(b))
    if a.keys() == b.keys():
        apart = [a[seed] - b[seed] for seed in a]
        return interval(center, variance(apart) / runs, runs - 1, runs)
    if runs < 2:
        return interval(center, math.nan, 1, runs)
    parts = [(variance([*arm.values()]) / len(arm), len(arm) - 1) for arm in (a, b)]
    total, spent = sum(part for part, _ in parts), sum(part**2 / df for part, df in parts)
    freedom = total**2 / spent if spent else sum(df for _, df in parts)
    return interval(center, total, freedom, runs)


def level(values: dict[int, float]) -> Row:
    """Mean over starts."""
    known = [*values.values()]
    return interval(fmean(known), variance(known) / len(known), len(known) - 1, len(known))


def crossed(outcomes: list[list[float]], imagined: tuple[int, ...]) -> Row:
    """Mean of outcomes, starts down and prompts across, with both taken as samples.

    Imagined prompts mend shares near one (Agresti & Coull 1998, Bonett & Price 2012); the variance
    is that between prompts, plus what starts show beyond noise (Searle et al. 1992, chapter 4).
    """
    table = [[*start, *imagined] for start in outcomes]
    n, p = len(table), len(table[0])
    by_start, by_prompt = [fmean(start) for start in table], [*map(fmean, zip(*table, strict=True))]
    mean = fmean(by_start)
    prompts = n * sum((value - mean) ** 2 for value in by_prompt) / (p - 1)
    error, freedom = prompts / p, p - 1.0
    if n > 1:
        starts = p * sum((value - mean) ** 2 for value in by_start) / (n - 1)
        rest = (
            (value - by_start[i] - by_prompt[j] + mean) ** 2
            for i, start in enumerate(table)
            for j, value in enumerate(start)
        )
        noise = sum(rest) / ((n - 1) * (p - 1))
        total, spent = prompts, prompts**2 / (p - 1)
        if starts > noise * (1 + ROUNDING):
            total += starts - noise
            spent += starts**2 / (n - 1) + noise**2 / ((n - 1) * (p - 1))
        error, freedom = total / (n * p), max(total**2 / spent, n - 1)
    half = student((1 + LEVEL) / 2, freedom) * math.sqrt(error)
    least, most = min(0, *imagined), max(imagined)
    low, high = max(mean - half, least), min(mean + half, most)
    return {"value": fmean(map(fmean, outcomes)), "low": low, "high": high, "seeds": n}


def variance(values: list[float]) -> float:
    """Unbiased; not a number for a single value."""
    if len(values) < 2:
        return math.nan
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def interval(center: float, error: float, freedom: float, runs: int) -> Row:
    """Student's interval on the working scale; `error` is the variance of the mean."""
    if runs < 2:
        return {"value": center, "low": None, "high": None, "spread": None, "seeds": runs}
    half = student((1 + LEVEL) / 2, max(freedom, 1)) * math.sqrt(error)
    found = {"value": center, "low": center - half, "high": center + half}
    return found | {"spread": math.sqrt(error * runs), "seeds": runs}


@cache
def student(p: float, freedom: float) -> float:
    """The quantile p > 1/2 of Student's t, by bisection on its distribution function."""
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + middle * middle)) / 2
        low, high = (middle, high) if 1 - tail < p else (low, middle)
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    fraction = 1.0
    for m in range(40, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        fraction = 1 + odd / (1 + even / fraction)
    return math.exp(front + a * math.log(x) + b * math.log1p(-x)) / (a * fraction)
