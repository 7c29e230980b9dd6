"""Gates: thresholds fixed in config before the run, and whether the data pass them.

The estimate is a ratio or difference for a gate against another arm, a level for an absolute one. A
gate on a count (194 of these 200 problems) speaks of these problems, so it takes the interval
between runs of the count and not the wider one of `accuracy`.
"""

from dataclasses import dataclass
from enum import StrEnum

from specdock.claims.intervals import Basis, Estimate, Scale, StatisticsError, to_working

_ROUNDING = 1e-9  # a logarithm loses the last digits of a value that equals its limit


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_DECIDABLE = "not decidable"


class DecidedBy(StrEnum):
    """What stands behind an outcome."""

    INTERVAL = "interval"
    POINT_ESTIMATE = "point estimate only"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Threshold:
    """A limit on the estimate's own scale (1.03 for a ratio of at least +3 %)."""

    limit: float
    at_least: bool


@dataclass(frozen=True)
class GateResult:
    """An outcome with its distance from the limit.

    `margin` is how far the estimate lies on the good side, on the working scale (a logarithm for
    ratios and levels). `margin_over_noise` divides it by the interval's half width, or by the known
    run-to-run noise where one run gives no interval; None where neither shows any noise.
    """

    outcome: Outcome
    decided_by: DecidedBy
    margin: float
    margin_over_noise: float | None


def threshold(
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    no_worse_than: float | None = None,
    against: Scale | None = None,
    higher_is_better: bool | None = None,
) -> Threshold:
    """A gate of config as a limit.

    `against` is the scale of the comparison when another arm is named: +0.03 then means 1.03 times
    (LOG) or 0.03 more (LINEAR). `no_worse_than` takes its side from `higher_is_better`.
    """
    given = [value for value in (at_least, at_most, no_worse_than) if value is not None]
    if len(given) != 1:
        raise StatisticsError(f"a gate has one threshold, found {len(given)}")
    if no_worse_than is not None and higher_is_better is None:
        raise StatisticsError("no_worse_than needs a metric whose better direction is known")
    limit = 1 + given[0] if against is Scale.LOG else given[0]
    lower_bound = at_least is not None or (no_worse_than is not None and bool(higher_is_better))
    return Threshold(limit, lower_bound)


def evaluate(estimate: Estimate, gate: Threshold, noise: float | None = None) -> GateResult:
    """Outcome of one gate (scalar estimate).

    The point estimate decides only when its interval lies wholly on one side of the limit. With one
    run per cell it decides alone and the result says so. `noise` is the half width of run-to-run
    noise known from elsewhere, on the working scale; only the margin uses it.
    """
    if estimate.value != estimate.value:
        return GateResult(Outcome.NOT_DECIDABLE, DecidedBy.NOTHING, float("nan"), None)
    scale, sign = estimate.scale, 1 if gate.at_least else -1
    limit = float(to_working(gate.limit, scale))
    margin = sign * (float(to_working(estimate.value, scale)) - limit)
    by_point = Outcome.PASSED if margin >= -_ROUNDING else Outcome.FAILED
    if estimate.basis != Basis.RUNS:
        over = margin / noise if noise else None
        return GateResult(by_point, DecidedBy.POINT_ESTIMATE, margin, over)
    ends = sorted(
        sign * (float(to_working(end, scale)) - limit) for end in (estimate.low, estimate.high)
    )
    half_width = float(estimate.half_width)
    over = margin / half_width if half_width > 0 else None
    if ends[0] < -_ROUNDING <= ends[1]:
        return GateResult(Outcome.NOT_DECIDABLE, DecidedBy.INTERVAL, margin, over)
    return GateResult(by_point, DecidedBy.INTERVAL, margin, over)
