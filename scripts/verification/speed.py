"""What is accepted, what a step costs, where the speed came from, and how it bears load."""

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean, median

from verification.claims import judge, listed, pairs_of
from verification.measured import (
    behind,
    logs,
    places,
    requests,
    role,
    seeds_and_basis,
    speculates,
    spelled,
    within_unit,
)
from verification.statistics import LEVEL, between, level, student
from verification.study import Row, Study


def acceptance(study: Study) -> Iterator[Row]:
    """Acceptance length by category: (tokens - 1) over steps, pooled in each start."""
    for arm, scenario in places(study):
        own = [
            r for r in requests(study, arm, scenario) if r["category"] and r["steps"] is not None
        ]
        for category in {row["category"] for row in own} if speculates(study, arm) else ():
            rows = [row for row in own if row["category"] == category]
            lengths = {}
            for seed in study.plan["seeds"]:
                start = [row for row in rows if row["seed"] == seed]
                if steps := sum(row["steps"] for row in start):
                    kept = sum(row["completion_tokens"] - 1 for row in start)
                    lengths[seed] = math.log(kept / steps)
            if lengths:
                found = level(lengths)
                key = {"scenario": scenario, "arm": arm, "category": category}
                more = {"requests": len(rows)} | behind(study, [arm], [scenario])
                yield key | spelled("length", found) | seeds_and_basis(found) | more


def positions(study: Study) -> Iterator[Row]:
    """Share of drafts accepted up to each position, by the engine's counters."""
    for arm, scenario in places(study):
        shares = {
            cell["seed"]: cell["accepted_per_position"]
            for cell in study.usable[arm, scenario]
            if cell["accepted_per_position"] is not None
        }
        before = 1.0
        for place in range(max(map(len, shares.values()), default=0)):
            own = {s: row[place] for s, row in shares.items() if place < len(row)}
            found = within_unit(level(own))
            key = {"scenario": scenario, "arm": arm, "position": place + 1}
            conditional = {"conditional": found["value"] / before if before > 0 else None}
            more = seeds_and_basis(found) | behind(study, [arm], [scenario])
            yield key | spelled("accepted", found, log=False) | conditional | more
            before = found["value"]


def steps(study: Study) -> Iterator[Row]:
    """A verification step in plain steps, and acceptance length over that."""
    for plain in listed(study.plan["roles"].get("reference")):
        for arm, scenario in places(study):
            theirs = logs(study, "step_time", plain, scenario)
            ours = logs(study, "step_time", arm, scenario)
            length = logs(study, "al_committed", arm, scenario)
            if not (speculates(study, arm) and ours and theirs and length):
                continue
            cost = between(ours, theirs)
            gain = {seed: length[seed] - ours[seed] for seed in length.keys() & ours.keys()}
            worth = between(gain, {seed: -value for seed, value in theirs.items()})
            rate, plain_rate = (logs(study, "output_rate", a, scenario) for a in (arm, plain))
            rest = between(
                {seed: rate[seed] - gain[seed] for seed in rate.keys() & gain.keys()},
                {s: plain_rate[s] + theirs[s] for s in plain_rate.keys() & theirs.keys()},
            )
            band = study.plan["band"].get("output_rate", 0.0)
            yield {
                "scenario": scenario,
                "arm": arm,
                "against": plain,
                "step_time": math.exp(level(ours)["value"]),
                "plain_step_time": math.exp(level(theirs)["value"]),
                **spelled("length", level(length)),
                **spelled("cost", cost),
                **spelled("worth", worth),
                **spelled("rate", between(rate, plain_rate)),
                **spelled("rest", rest),
                "band": band,
                "verdict": judge(rest, math.log1p(band), True)[0],
                **seeds_and_basis(cost),
                **behind(study, [arm, plain], [scenario]),
            }


def waterfall(study: Study) -> Iterator[Row]:
    """Each step of the chain as a ratio, and as its part of the whole's logarithm where the whole
    is told from nothing."""
    arms = study.plan["chain"]
    for scenario in (scenario["id"] for scenario in study.plan["scenarios"]):
        rates = [logs(study, "output_rate", arm, scenario) for arm in arms]
        if len(arms) < 2 or not all(rates):
            continue
        whole = between(rates[-1], rates[0])
        told = whole["low"] is not None and (whole["low"] > 0 or whole["high"] < 0)
        links = [(arms[0], arms[-1], whole)]
        for (before, a), (after, b) in pairwise(zip(arms, rates, strict=True)):
            links.append((before, after, between(b, a)))
        sizes = [abs(found["value"]) for *_, found in links[1:]]
        for place, (before, after, found) in enumerate(links):
            part = found["value"] / whole["value"] if told and whole["value"] else None
            yield {
                "scenario": scenario,
                "step": place,
                "arm": after,
                "against": before,
                "share": part,
                "largest": place == 1 + sizes.index(max(sizes)),
                **spelled("ratio", found),
                **seeds_and_basis(found),
                **behind(study, [after, before], [scenario]),
            }


def waits(study: Study) -> Iterator[Row]:
    """Waiting for a slot, prefill and decoding: with S slots, the i-th request sent waits until
    the (i - S + 1)-th ends."""
    for arm, scenario in places(study):
        shares, parts, limits = {}, [], []
        for cell in study.usable[arm, scenario]:
            slots = study.sessions[cell["session"]]["request_slots"]
            rows = [r for r in requests(study, arm, scenario) if r["cell"] == cell["cell"]]
            raw = [study.raw_row(row["raw_file"], row["raw_row"]) for row in rows]
            times = [(r["t_send"], r["t_first"], r["t_end"]) for r in raw]
            times = sorted(t for t in times if None not in t)
            if slots is None or not times:
                continue
            ends = sorted(end for *_, end in times)
            queue = [0.0] * len(times)
            for i, (send, first, _) in enumerate(times[slots:], slots):
                queue[i] = min(max(send, ends[i - slots]), first) - send
            to_first = [first - send for send, first, _ in times]
            shares[cell["seed"]] = sum(queue) / sum(to_first)
            limits.append(slots)
            decode = fmean(end - first for _, first, end in times)
            parts.append((fmean(queue), fmean(to_first) - fmean(queue), decode))
        if parts:
            found = within_unit(level(shares))
            means = (1000 * fmean(part) for part in zip(*parts, strict=True))
            streams = study.cells_of(arm, scenario)[0]["streams"]
            key = {"scenario": scenario, "arm": arm, "streams": streams, "slots": min(limits)}
            more = dict(zip(("queue", "prefill", "decode"), means, strict=True))
            more |= seeds_and_basis(found) | behind(study, [arm], [scenario])
            yield key | spelled("queueing", found, log=False) | more


def crossings(study: Study) -> Iterator[Row]:
    """Streams at which the leader in output rate changes, between arms measured at two or more.

    Log rates are interpolated on the log of the streams; the interval holds every point of a fine
    grid whose own interval for the log ratio includes nothing (Fieller's inversion).
    """
    argued = role(study, "candidate", "served") or list(study.plan["arms"])
    series: dict[str, list[Row]] = {}
    for scenario in sorted(study.plan["scenarios"], key=lambda row: row["streams"]):
        series.setdefault(scenario["id"].rpartition("@")[0], []).append(scenario)
    for name, levels in series.items():
        for arm, against in pairs_of(study.plan):
            pair = [
                [logs(study, "output_rate", a, s["id"]) for s in levels] for a in (arm, against)
            ]
            known = [i for i, both in enumerate(zip(*pair, strict=True)) if all(both)]
            if arm not in argued or len(known) < 2:
                continue
            ours, theirs = ([side[i] for i in known] for side in pair)
            streams = [levels[i]["streams"] for i in known]
            grid = [math.log(n) for n in streams]
            points = [(x, *share) for x, share in fine_grid(grid)]
            gaps = [(x, between(at(ours, i, part), at(theirs, i, part))) for x, i, part in points]
            ahead = fmean_of(ours[0]) >= fmean_of(theirs[0])
            yield {
                "series": name,
                "arm": arm,
                "against": against,
                "first": streams[0],
                "last": streams[-1],
                **turning_point(gaps),
                "leads": arm if ahead else against,
                "seeds": min(len(a.keys() & b.keys()) for a, b in zip(ours, theirs, strict=True)),
                **behind(study, [arm, against], [levels[i]["id"] for i in known]),
            }


def fine_grid(levels: list[float]) -> Iterator[tuple[float, tuple[int, float]]]:
    """Points between levels, each with its segment and how far it lies in that."""
    for i, (a, b) in enumerate(pairwise(levels)):
        for k in range(256):
            yield a + (b - a) * k / 256, (i, k / 256)
    yield levels[-1], (len(levels) - 2, 1.0)


def at(side: list[dict[int, float]], segment: int, part: float) -> dict[int, float]:
    """Each start's value at a point of a segment; starts that lack an end are left out."""
    a, b = side[segment], side[segment + 1]
    if part in (0.0, 1.0):
        return (b if part else a).copy()
    return {seed: a[seed] + (b[seed] - a[seed]) * part for seed in a if seed in b}


def fmean_of(values: dict[int, float]) -> float:
    return fmean(values.values())


def turning_point(gaps: list[tuple[float, Row]]) -> Row:
    """The first change of sign of a gap along a grid, and the points that may be it."""
    point = None
    for (x, gap), (y, later) in pairwise(gaps):
        before, after = gap["value"], later["value"]
        if before != 0 and before * after <= 0:
            point = math.exp(x + before / (before - after) * (y - x))
            break
    row: Row = {"streams": point, "streams_low": None, "streams_high": None, "open": False}
    row["basis"] = "no interval"
    if any(gap["low"] is None for _, gap in gaps):
        return row
    level_there = [gap["low"] <= 0 <= gap["high"] for _, gap in gaps]
    held = [math.exp(x) for (x, _), there in zip(gaps, level_there, strict=True) if there]
    held += [point] if point is not None else []
    if not held:
        return row
    ends = {"streams_low": min(held), "streams_high": max(held), "basis": "between runs"}
    return row | ends | {"open": level_there[0] or level_there[-1]}


def sweep(study: Study) -> Iterator[Row]:
    """Output rate of arms in the role `sweep` over that of the arm named beside them."""
    band = math.log1p(study.plan["band"].get("output_rate", 0.0))
    table = study.table("claims/sweep.parquet")
    for row in table:
        arm, against, scenario = row["arm"], row["against"], row["scenario"]
        beside = [(r["arm"], r["against"]) for r in table if r["scenario"] == scenario]
        pooled = {name for pair in beside for name in pair}
        values = {name: logs(study, "output_rate", name, scenario) for name in pooled}
        found = between(values[arm], values[against])
        ran = [list(own.values()) for own in values.values() if own]
        freedom = sum(len(own) - 1 for own in ran)
        noise = None
        if freedom:
            squares = sum((v - fmean(own)) ** 2 for own in ran for v in own)
            typical = median(len(own) for own in ran if len(own) > 1)
            spread = math.sqrt(2 * squares / freedom / typical)
            noise = math.expm1(student((1 + LEVEL) / 2, freedom) * spread)
        yield {
            "scenario": scenario,
            "arm": arm,
            "against": against,
            "noise": noise,
            "verdict": judge(found, band, True)[0],
            **spelled("effect", found),
            **seeds_and_basis(found),
            **behind(study, [arm, against], [scenario]),
        }


ENGINE = ("engine", "engine_name", "environment")
TARGET = ("target",)
DRAFTER = ("drafter", "speculation.drafter", "speculation.drafter_quantization")
LABELS = ("name", "note", "evidence", "ready_timeout")


def contrasts(study: Study) -> Iterator[Row]:
    """What two arms of a pair have, and whether they differ in that alone; the pairs are those that
    the table names."""
    for row in study.table("claims/contrasts.parquet"):
        arm, base = (study.plan["arms"][row[name]] for name in ("arm", "against"))
        paths, told = {
            "engine": (ENGINE, lambda each: each["engine_name"]),
            "target precision": (TARGET, lambda each: each["target"]["checkpoint"]["precision"]),
            "drafter precision": (DRAFTER, drafter_precision),
        }[row["question"]]
        changed = set(differing(arm, base))
        own = {path for path in changed for p in paths if path == p or path.startswith(f"{p}.")}
        yield {
            "question": row["question"],
            "arm": row["arm"],
            "against": row["against"],
            "before": told(base),
            "after": told(arm),
            "clean": own == changed if own else None,
        }


def drafter_precision(arm: Row) -> str:
    kept = arm["drafter"]["checkpoint"].get("precision") if arm["drafter"] else None
    return arm["speculation"].get("drafter_quantization") or kept or "as trained"


def differing(one: object, other: object, path: str = "") -> Iterator[str]:
    """Paths at which two resolved arms have other values; what only names an arm is left out."""
    if not isinstance(one, dict) and not isinstance(other, dict):
        if one != other:
            yield path
        return
    one, other = (side if isinstance(side, dict) else {} for side in (one, other))
    for key in {**one, **other}:
        if path or key not in LABELS:
            inner = f"{path}.{key}" if path else key
            yield from differing(one.get(key), other.get(key), inner)
