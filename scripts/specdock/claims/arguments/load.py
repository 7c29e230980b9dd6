"""Under load: waiting told apart from decoding, where two arms cross, which draft length to use."""

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pyarrow as pa

from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
    within_unit,
)
from specdock.claims.decomposition import changed_factors
from specdock.claims.intervals import ONE_START, Scale, mean_over_runs
from specdock.claims.load import (
    crossing,
    queueing_share,
    recommend_schedule,
    schedule_rates,
    waits,
)
from specdock.claims.pairs import pairs_of
from specdock.columns import column
from specdock.plan.values import drafts_at, schedule_ranges

WAITS = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "arm"),
        column("streams", pa.int32(), "closed-loop concurrency"),
        column("slots", pa.int32(), "requests that the engine runs at once"),
        *with_interval("queueing", "part of the time to first token spent waiting for a slot"),
        column("queue", pa.float64(), "mean wait for a request slot", "ms"),
        column("prefill", pa.float64(), "mean time from slot to first token", "ms"),
        column("decode", pa.float64(), "mean time from first token to the end", "ms"),
        *BEHIND,
    ]
)
CROSSINGS = pa.schema(
    [
        column("series", pa.string(), "scenarios that differ in their streams alone"),
        column("arm", pa.string(), "arm"),
        column("against", pa.string(), "arm that it is compared with"),
        column("first", pa.int32(), "fewest streams measured"),
        column("last", pa.int32(), "most streams measured"),
        *with_interval("streams", "where the leader in output rate changes"),
        column("open", pa.bool_(), "the interval runs out of the measured range"),
        column("leads", pa.string(), "arm with the higher output rate at the fewest streams"),
        *BEHIND,
    ]
)
SCHEDULES = pa.schema(
    [
        column("series", pa.string(), "scenarios that differ in their streams alone"),
        column("arms", pa.string(), "static arms that differ in draft length alone"),
        column("first", pa.int32(), "from this many streams"),
        column("last", pa.int32(), "to this many streams"),
        column("draft_tokens", pa.int32(), "fewest draft tokens within the band of the best"),
        column("band", pa.float64(), "inside it rates count as equal, fixed in config"),
        *BEHIND,
    ]
)
SCHEDULED = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "arm that was served with a schedule"),
        column("draft_tokens", pa.int32(), "its draft tokens at these streams"),
        column("promised", pa.float64(), "output rate of the static arm it imitates", "tok/s"),
        column("rate", pa.float64(), "its own output rate", "tok/s"),
        *BEHIND,
    ]
)
_TIMES = ["t_send", "t_first", "t_end"]


def queueing(measured: Measured) -> Iterator[dict]:
    """Rows of `WAITS`, where the engine stated its request slots."""
    slots = measured.sessions.set_index("session")["request_slots"].dropna()
    rows = measured.requests
    rows = rows.join(measured.raw(rows, _TIMES)).dropna(subset=_TIMES)
    times, behind = rows[_TIMES].to_numpy(float), rows.groupby("cell", sort=False).indices
    cells = measured.cells[["scenario", "arm", "seed", "cell", "session"]]
    cells = cells[cells["session"].isin(slots.index)]
    places = dict(list(cells.groupby(["scenario", "arm"])))
    for scenario, arm in product(measured.scenarios, measured.arms):
        shares, parts, limits = dict.fromkeys(measured.seeds, np.nan), [], []
        for cell in places.get((scenario, arm), cells[:0]).itertuples():
            if cell.cell not in behind:
                continue
            limits.append(int(slots[cell.session]))
            found = waits(*times[behind[cell.cell]].T, limits[-1])
            shares[cell.seed] = queueing_share(found)
            parts.append([1000 * part.mean() for part in found])
        if not parts:
            continue
        share = within_unit(mean_over_runs(list(shares.values()), Scale.LINEAR))
        queue, prefill, decode = np.mean(parts, axis=0)
        yield {
            "scenario": scenario,
            "arm": arm,
            "streams": measured.scenarios[scenario]["streams"],
            "slots": min(limits),
            **spelled("queueing", share),
            "queue": number(queue),
            "prefill": number(prefill),
            "decode": number(decode),
            **based_on(share),
            **measured.behind([arm], [scenario]),
        }


def crossings(measured: Measured) -> Iterator[dict]:
    """Rows of `CROSSINGS`, for pairs of arms with two concurrencies or more in common."""
    argued = measured.role("candidate", "served") or measured.arms
    pairs = [pair for pair in pairs_of(measured.plan) if pair[0] in argued]
    for (series, levels), (arm, against) in product(measured.series().items(), pairs):
        ids = [level["id"] for level in levels]
        values = measured.values("output_rate", [arm, against], ids)
        known = ~np.isnan(values).all(axis=2).any(axis=0)
        streams = np.array([level["streams"] for level in levels])[known]
        if len(streams) < 2:
            continue
        ours, theirs = values[:, known]
        found = crossing(streams, ours, theirs)
        ahead = np.nanmean(np.log(ours[0])) >= np.nanmean(np.log(theirs[0]))
        seeds = int((~np.isnan(ours + theirs)).sum(axis=1).min())
        yield {
            "series": series,
            "arm": arm,
            "against": against,
            "first": int(streams[0]),
            "last": int(streams[-1]),
            "streams": number(found.level),
            "streams_low": found.low,
            "streams_high": found.high,
            "open": found.open_below or found.open_above,
            "leads": arm if ahead else against,
            "seeds": seeds,
            "basis": "no interval" if found.low is None else "between runs",
            "reason": _without_interval(seeds) if found.low is None else None,
            **measured.behind([arm, against], [ids[i] for i in np.flatnonzero(known)]),
        }


def _without_interval(seeds: int) -> str:
    if seeds < 2:
        return ONE_START
    return "the arms are apart at every concurrency measured"


def schedules(measured: Measured) -> Iterator[dict]:
    """Rows of `SCHEDULES`, where static arms that differ in draft length alone were measured."""
    for series, levels, arms, drafts, rates in _static(measured):
        band = measured.plan["band"].get("output_rate", 0.0)
        streams = [level["streams"] for level in levels]
        for first, last, tokens in recommend_schedule(streams, drafts, rates, band):
            yield {
                "series": series,
                "arms": ", ".join(arms),
                "first": first,
                "last": last,
                "draft_tokens": tokens,
                "band": band,
                "seeds": len(measured.seeds),
                "basis": "no interval",
                **measured.behind(arms, [level["id"] for level in levels]),
            }


def scheduled(measured: Measured) -> Iterator[dict]:
    """Rows of `SCHEDULED`: what static arms promise for a schedule, and what it did."""
    arms = measured.plan["arms"]
    served = {arm: arms[arm]["speculation"].get("schedule") for arm in measured.arms}
    for (_, levels, static, drafts, rates), arm in product(_static(measured), served):
        if not served[arm] or not _same_but_draft(arms[arm], arms[static[0]]):
            continue
        schedule = schedule_ranges(served[arm])
        streams = [level["streams"] for level in levels]
        promised = schedule_rates(schedule, streams, drafts, rates)
        for level, rate in zip(levels, promised, strict=True):
            own = mean_over_runs(measured.values("output_rate", [arm], [level["id"]])[0, 0])
            if np.isnan(rate) or np.isnan(own.value):
                continue
            yield {
                "scenario": level["id"],
                "arm": arm,
                "draft_tokens": drafts_at(level["streams"], None, served[arm]),
                "promised": number(rate),
                "rate": number(own.value),
                **based_on(own),
                **measured.behind([arm, *static], [level["id"]]),
            }


def _static(
    measured: Measured,
) -> Iterator[tuple[str, list[Mapping], list[str], list[int], np.ndarray]]:
    """(series, levels, arms, draft lengths, rates) of arms that differ in draft length alone."""
    arms = measured.plan["arms"]
    free = [a for a in measured.arms if measured.speculates(a) and not _schedule(arms[a])]
    families: list[list[str]] = []
    for arm in free:
        alike = (own for own in families if _same_but_draft(arms[arm], arms[own[0]]))
        family = next(alike, None)
        if family is None:
            families.append([arm])
        elif _drafts(arms[arm]) not in [_drafts(arms[other]) for other in family]:
            family.append(arm)
    for family, (series, levels) in product(families, measured.series().items()):
        if len(family) < 2 or len(levels) < 2:
            continue
        cells = measured.values("output_rate", family, [level["id"] for level in levels])
        rates = mean_over_runs(cells).value
        if not np.isnan(rates).any():
            yield series, levels, family, [_drafts(arms[arm]) for arm in family], rates


def _same_but_draft(one: Mapping, other: Mapping) -> bool:
    free = {"speculation.draft_tokens", "speculation.schedule"}
    paths = {change.path for change in changed_factors(one, other)}
    return all(any(path == f or path.startswith(f"{f}.") for f in free) for path in paths)


def _schedule(arm: Mapping) -> object:
    return arm["speculation"].get("schedule")


def _drafts(arm: Mapping) -> int:
    return arm["speculation"]["draft_tokens"]
