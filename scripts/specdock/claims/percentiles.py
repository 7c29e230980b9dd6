"""Which percentiles a sample is large enough to state."""

from math import ceil, log

from specdock.claims.intervals import LEVEL


def minimum_n(p: float) -> int:
    """Fewest values for which the `p` quantile (0 < p < 1) has a two-sided 95 % interval at all.

    Without a distribution, the interval ends at two order statistics; the extreme one lies beyond
    the quantile with probability 1 - p**n (or 1 - (1 - p)**n), which must reach 97.5 % (Hahn &
    Meeker 1991, section 5.2; Le Boudec 2010, section 2.2). Median 6, p90 36, p95 72, p99 368: under
    that, a p99 is the maximum by another name.
    """
    if not 0 < p < 1:
        raise ValueError(f"a quantile lies between 0 and 1, found {p}")
    return ceil(log((1 - LEVEL) / 2) / log(max(p, 1 - p)))


def percentile_allowed(p: float, n: int) -> bool:
    """Whether `n` requests are enough to print the `p` quantile."""
    return n >= minimum_n(p)
