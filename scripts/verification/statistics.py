"""Intervals: Student's between starts, of logarithms or plain numbers, and those of shares."""

import math
from collections.abc import Callable
from functools import cache
from statistics import fmean

from verification.study import ROUNDING, Row

LEVEL = 0.95
LASTING = 0.7


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


def share(correct: list[list[float]]) -> Row:
    """Share of true outcomes, starts down and prompts across: Wilson's score interval (1927) for
    as many independent answers as would tell as much, by bisection on its statistic."""
    value = fmean(map(fmean, correct))
    n, z = independent(correct)

    def off(p: float) -> float:
        return (value - p) / math.sqrt(p * (1 - p) / n) if 0 < p < 1 else 0.0

    return scored(value, off, z, 0.0, 1.0) | {"seeds": len(correct)}


def share_difference(apart: list[list[float]]) -> Row:
    """Share correct less another's, from paired outcomes of -1, 0 and 1: Tango's score interval
    (1998), by bisection on his statistic."""
    value = fmean(map(fmean, apart))
    n, z = independent(apart)
    gained, lost = (
        n * fmean(fmean(max(s * x, 0) for x in start) for start in apart) for s in (1, -1)
    )

    def off(d: float) -> float:
        linear = gained + lost - (2 * n - gained + lost) * d
        root = math.sqrt(max(linear**2 + 8 * n * lost * d * (1 - d), 0))
        spread = n * ((root + linear) / (2 * n) + d * (1 - d))
        return (gained - lost - n * d) / math.sqrt(spread) if spread > 0 else 0.0

    return scored(value, off, z, -1.0, 1.0) | {"seeds": len(apart)}


def scored(value: float, off: Callable[[float], float], z: float, least: float, most: float) -> Row:
    """The values whose statistic is at most z away from nothing."""
    ends = {}
    for name, far in (("low", least), ("high", most)):
        near = value
        for _ in range(80):
            middle = (near + far) / 2
            near, far = (middle, far) if abs(off(middle)) <= z else (near, middle)
        ends[name] = near
    return {"value": value} | ends


def independent(table: list[list[float]]) -> tuple[float, float]:
    """How many independent outcomes tell as much of the mean as these, and Student's quantile.

    The variance of the mean is that between prompts, plus what starts show beyond noise (Searle et
    al. 1992, chapter 4); it is no less than if a part
    of a prompt lastingly differed.
    """
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
        error, freedom = total / (n * p), max(total**2 / spent if spent else p - 1.0, n - 1)
    alone = sum((value - mean) ** 2 for start in table for value in start) / n / (p - 1)
    least = LASTING / p**2
    answers = alone / error if error > least else max(alone / least, p)
    return min(max(answers, 1), n * p), student((1 + LEVEL) / 2, freedom)


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
