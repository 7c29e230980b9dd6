"""What if a drafter kept so many tokens a step: arms that differ in the acceptance imposed on them.

The speed of a step does not depend on what is drafted, so an engine that is told how many tokens to
accept is as fast as one whose drafter earns them. Between imposed lengths, logarithms of rates are
interpolated on the logarithm of the length, which is exact where a step costs the same whatever it
keeps: the rate is then proportional to the length. Beyond them that proportion is all there is to
go by, from the nearest length, and a row says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from specdock.claims.arguments.chain import described
from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
)
from specdock.claims.decomposition import changed_factors
from specdock.claims.intervals import (
    ONE_START,
    Basis,
    Estimate,
    Scale,
    mean_over_runs,
    ratio,
    to_working,
)
from specdock.claims.load import Crossing, crossing, interpolate
from specdock.columns import column
from specdock.plan.values import drafts_at
from specdock.published.ledger import Figure, load_ledger

MEASURED, INTERPOLATED, EXTRAPOLATED = "measured", "interpolated", "extrapolated"
REACHED, BELOW, NOT_REACHED = "reached", "below the first", "not reached"
INSIDE, ABOVE, UNDER, NOT_DECIDABLE = "inside", "above", "below", "not decidable"
SPEED_UP, OUTPUT_RATE = "speed-up", "output rate"

_FAMILY = column("arms", pa.string(), "arms that share everything but the imposed acceptance")
WHAT_IF = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "arm whose acceptance is imposed"),
        column("against", pa.string(), "plain decoding"),
        _FAMILY,
        column("streams", pa.int32(), "closed-loop concurrency"),
        column("length", pa.float64(), "acceptance length imposed", "tokens"),
        column("counted", pa.float64(), "acceptance length by the engine's counters", "tokens"),
        column("rate", pa.float64(), "output rate", "tok/s"),
        *with_interval("speed_up", "output rate over that of plain decoding"),
        column("factors", pa.string(), "what the arm changes of plain decoding"),
        column("clean", pa.bool_(), "exactly one factor changes"),
        *BEHIND,
    ]
)
BREAK_EVEN = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        _FAMILY,
        column("against", pa.string(), "plain decoding"),
        column("streams", pa.int32(), "closed-loop concurrency"),
        column("first", pa.float64(), "smallest acceptance length imposed", "tokens"),
        column("last", pa.float64(), "largest acceptance length imposed", "tokens"),
        *with_interval("length", "acceptance length at which drafting costs what it saves"),
        column("open", pa.bool_(), "the interval runs out of the imposed lengths"),
        column("place", pa.string(), "reached, below the first length, or not reached"),
        *with_interval(
            "extrapolated",
            "the same beyond them, if a step costs what it costs at the nearest of them",
            "tokens",
        ),
        *BEHIND,
    ]
)
PLACED = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        _FAMILY,
        column("acceptance", pa.string(), "id of the published acceptance length"),
        column("figure", pa.string(), "id of the published speed or of its lower end"),
        column("figure_high", pa.string(), "id of the upper end"),
        column("metric", pa.string(), "what was published: speed-up or output rate"),
        column("streams", pa.int32(), "closed-loop concurrency"),
        column("length", pa.float64(), "the published acceptance length", "tokens"),
        column("published_low", pa.float64(), "published: times plain decoding, or tok/s"),
        column("published_high", pa.float64(), "its upper end"),
        *with_interval("ours", "ours at that acceptance length"),
        column("how", pa.string(), "measured, interpolated or extrapolated in proportion"),
        column("verdict", pa.string(), "where our interval lies: inside, above, below"),
        *BEHIND,
    ]
)


@dataclass(frozen=True)
class Curve:
    """Arms of one family that ran a scenario, by rising imposed length, beside plain decoding.

    `rates` are [lengths, runs] and `plain` [runs], in tokens per second.
    """

    scenario: str
    family: str
    reference: str
    arms: list[str]
    lengths: NDArray[np.float64]
    rates: NDArray[np.float64]
    plain: NDArray[np.float64]


def what_if(measured: Measured) -> Iterator[dict]:
    """Rows of `WHAT_IF`: the speed-up at each imposed acceptance length and concurrency."""
    specs = measured.plan["arms"]
    for curve in _curves(measured):
        for arm, length, rates in zip(curve.arms, curve.lengths, curve.rates, strict=True):
            speed_up = ratio(rates, curve.plain)
            counted = measured.values("al_counter", [arm], [curve.scenario])[0, 0]
            changes = described(changed_factors(specs[curve.reference], specs[arm]))
            yield {
                "scenario": curve.scenario,
                "arm": arm,
                "against": curve.reference,
                "arms": curve.family,
                "streams": measured.scenarios[curve.scenario]["streams"],
                "length": float(length),
                "counted": number(mean_over_runs(counted).value),
                "rate": number(mean_over_runs(rates).value),
                **spelled("speed_up", speed_up),
                "factors": changes["factors"],
                "clean": changes["clean"],
                **based_on(speed_up),
                **measured.behind([arm, curve.reference], [curve.scenario]),
            }


def break_even(measured: Measured) -> Iterator[dict]:
    """Rows of `BREAK_EVEN`, for every scenario in which a length was imposed."""
    for curve in _curves(measured):
        found = _crossing(curve)
        pays_at_once = ratio(curve.rates[0], curve.plain).value >= 1
        place = BELOW if pays_at_once else NOT_REACHED if np.isnan(found.level) else REACHED
        seeds = int(ratio(curve.rates, curve.plain).runs.min())
        nearest = 0 if place == BELOW else -1
        beyond = ratio(curve.plain, curve.rates[nearest])
        beyond = spelled("extrapolated", _times(beyond, float(curve.lengths[nearest])))
        if place == REACHED:
            beyond = dict.fromkeys(beyond)
        known = found.low is not None or beyond["extrapolated_low"] is not None
        yield {
            "scenario": curve.scenario,
            "arms": curve.family,
            "against": curve.reference,
            "streams": measured.scenarios[curve.scenario]["streams"],
            "first": float(curve.lengths[0]),
            "last": float(curve.lengths[-1]),
            "length": number(found.level) if place == REACHED else None,
            "length_low": found.low,
            "length_high": found.high,
            "open": found.open_below or found.open_above,
            "place": place,
            **beyond,
            "seeds": seeds,
            "basis": (Basis.RUNS if known else Basis.NONE).value,
            "reason": None if known else ONE_START,
            **measured.behind([*curve.arms, curve.reference], [curve.scenario]),
        }


def placed(measured: Measured) -> Iterator[dict]:
    """Rows of `PLACED`: what others published of a drafter, beside our curve at its acceptance.

    The curve is that of the candidate if it is on one, else each.
    """
    published = list(_published(measured))
    curves = list(_curves(measured))
    candidate = set(measured.role("candidate"))
    for curve in [c for c in curves if candidate & set(c.arms)] or curves:
        streams = measured.scenarios[curve.scenario]["streams"]
        for acceptance, low, high in published:
            if _streams(low) != streams:
                continue
            metric = SPEED_UP if low.form == "ratio" else OUTPUT_RATE
            most = 1 + measured.plan["arms"][curve.arms[0]]["speculation"]["draft_tokens"]
            rates, how = _at(curve, acceptance.value, most)
            ours = ratio(rates, curve.plain) if metric == SPEED_UP else mean_over_runs(rates)
            reason = None if how else "no step of these arms keeps so many tokens"
            yield {
                "scenario": curve.scenario,
                "arms": curve.family,
                "acceptance": acceptance.id,
                "figure": low.id,
                "figure_high": high.id,
                "metric": metric,
                "streams": streams,
                "length": acceptance.value,
                "published_low": low.value,
                "published_high": high.value,
                **spelled("ours", ours),
                "how": how,
                "verdict": _verdict(ours, low.value, high.value),
                **(based_on(ours) | ({"reason": reason} if reason else {})),
                **measured.behind([*curve.arms, curve.reference], [curve.scenario]),
            }


def _curves(measured: Measured) -> Iterator[Curve]:
    """Every family in every scenario that decodes, where plain decoding and one of its arms ran.

    A step that a schedule shortens does not keep what was imposed on a whole one, so arms are left
    out where their schedule does that.
    """
    references = measured.role("reference")
    if not references:
        return
    for family in _families(measured):
        for scenario in filter(measured.decodes, measured.scenarios):
            streams = measured.scenarios[scenario]["streams"]
            whole = [_drafts_whole(measured.plan["arms"][arm], streams) for arm in family]
            rates = measured.values("output_rate", family, [scenario])[:, 0]
            plain = measured.values("output_rate", references[:1], [scenario])[0, 0]
            ran = ~np.isnan(rates).all(axis=1) & whole
            if not ran.any() or np.isnan(plain).all():
                continue
            arms = [arm for arm, known in zip(family, ran, strict=True) if known]
            lengths = np.array([_imposed(measured.plan["arms"][arm]) for arm in arms])
            named = ", ".join(family)
            yield Curve(scenario, named, references[0], arms, lengths, rates[ran], plain)


def _families(measured: Measured) -> Iterator[list[str]]:
    """Arms with an imposed acceptance length that differ in nothing else, by rising length."""
    specs = measured.plan["arms"]
    families: list[list[str]] = []
    for arm in measured.arms:
        length = _imposed(specs[arm])
        if length is None:
            continue
        alike = (own for own in families if _same_but_length(specs[own[0]], specs[arm]))
        family = next(alike, None)
        if family is None:
            families.append([arm])
        elif length not in (_imposed(specs[other]) for other in family):
            family.append(arm)
    for family in families:
        yield sorted(family, key=lambda arm: _imposed(specs[arm]))


def _same_but_length(one: Mapping, other: Mapping) -> bool:
    paths = {change.path for change in changed_factors(one, other)}
    return paths <= {"speculation.imposed_acceptance_length"}


def _drafts_whole(arm: Mapping, streams: int) -> bool:
    wanted = arm["speculation"]
    drafts = wanted.get("draft_tokens")
    return drafts_at(streams, drafts, wanted.get("schedule")) == drafts


def _imposed(arm: Mapping) -> float | None:
    return arm["speculation"].get("imposed_acceptance_length")


def _crossing(curve: Curve) -> Crossing:
    if len(curve.arms) < 2:
        return Crossing(np.nan, None, None, False, False)
    return crossing(curve.lengths, curve.rates, np.tile(curve.plain, (len(curve.arms), 1)))


def _times(estimate: Estimate, factor: float) -> Estimate:
    ends = {name: getattr(estimate, name) * factor for name in ("value", "low", "high")}
    return replace(estimate, **ends)


def _at(curve: Curve, length: float, most: int) -> tuple[NDArray[np.float64], str | None]:
    """Rates [runs] at an acceptance length, and how they are known; NaN over the `most` tokens."""
    if length > most:
        return np.full(curve.plain.shape, np.nan), None
    if not curve.lengths[0] <= length <= curve.lengths[-1]:
        nearest = 0 if length < curve.lengths[0] else -1
        return curve.rates[nearest] * length / curve.lengths[nearest], EXTRAPOLATED
    logs = to_working(curve.rates, Scale.LOG)
    rates = np.exp(interpolate(np.log(curve.lengths), logs, np.log([length]))[0])
    return rates, MEASURED if length in curve.lengths else INTERPOLATED


def _published(measured: Measured) -> Iterator[tuple[Figure, Figure, Figure]]:
    """(acceptance length, lower end, upper end) of what was published of each drafter.

    A speed-up over several texts is a range, which holds for every acceptance length of that
    drafter; a speed of one text stands beside the acceptance of the same text alone.
    """
    for named, plain in measured.plan.get("published_drafters", {}).items():
        ledger, _, arm = named.partition("/")
        own = [f for f in load_ledger(measured.root, ledger).figures if f.arm == arm]
        lengths = [f for f in own if f.metric == "acceptance_length" and f.form == "value"]
        rates = [f for f in own if f.metric == "output_rate"]
        speeds = [f for f in rates if f.form == "ratio" and f.baseline == plain]
        speeds += [f for f in rates if f.form == "value" and f.unit == "tok/s"]
        for low in speeds:
            if low.bound == "lower":
                high = _upper_end(low, speeds)
                yield from ((length, low, high) for length in lengths if high)
            elif low.bound is None:
                same = [length for length in lengths if length.scenario == low.scenario]
                yield from ((length, low, low) for length in same)


def _upper_end(low: Figure, figures: list[Figure]) -> Figure | None:
    same = (f for f in figures if (f.scenario, f.form) == (low.scenario, low.form))
    return next((figure for figure in same if figure.bound == "upper"), None)


def _streams(figure: Figure) -> int | None:
    """The concurrency that a published scenario names: 8 in `card-tasks@8`."""
    level = (figure.scenario or "").rpartition("@")[2]
    return int(level) if level.isdigit() else None


def _verdict(ours: Estimate, low: float, high: float) -> str:
    """Where the whole interval of ours lies; without one, or across an end, nothing is decided."""
    if ours.low > high:
        return ABOVE
    if ours.high < low:
        return UNDER
    return INSIDE if low <= ours.low and ours.high <= high else NOT_DECIDABLE
