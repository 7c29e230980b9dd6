"""The argument's tables: the figures of each, from cells, requests, sessions and raw rows.

Words that describe (what two arms differ in, why a value is missing) are not judged here. Tables
that this module does not know rest on their hash, which it says.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import fmean, median

from verification.claims import by_seed, listed, pairs_of
from verification.statistics import between, crossed, level
from verification.study import BrokenLink, Row, Study, compare


def check_arguments(study: Study) -> Iterator[str]:
    """Recomputes the tables of `ARGUMENTS`; names the others and what is printed of them."""
    checked = 0
    for name, (rows, keys) in ARGUMENTS.items():
        where = f"{study.shown}/claims/{name}.parquet"
        stated = {
            tuple(row[key] for key in keys): row for row in study.table(f"claims/{name}.parquet")
        }
        computed = {tuple(row[key] for key in keys): row for row in rows(study)}
        for key in stated.keys() ^ computed.keys():
            state = "follows from no source" if key in stated else "is missing"
            raise BrokenLink(f"{where}: the row {'/'.join(map(str, key))} {state}")
        for key, row in computed.items():
            compare(f"{where}, {'/'.join(map(str, key))}", stated[key], row, whole=False)
        checked += len(computed)
    yield f"{checked} rows of {len(ARGUMENTS)} tables of the argument follow from theirs"
    known = {"estimates", "comparisons", "gates", *ARGUMENTS}
    for path in sorted((study.folder / "claims").glob("*.parquet")):
        file = f"{study.shown}/claims/{path.name}"
        printed = sum(number["source"]["file"] == file for number in study.numbers)
        if path.stem not in known and printed:
            yield f"{printed} printed numbers rest on the hash of claims/{path.name}"


def spelled(name: str, found: Row, log: bool = True) -> Row:
    """The columns of an estimate, as logarithms or as it is."""
    ends = zip(("", "_low", "_high"), ("value", "low", "high"), strict=True)
    return {
        f"{name}{suffix}": math.exp(found[end]) if log and found[end] is not None else found[end]
        for suffix, end in ends
    }


def seeds_and_basis(found: Row, within: bool = False) -> Row:
    basis = "no interval" if found["low"] is None else "between runs"
    return {"seeds": found["seeds"], "basis": "within one run" if within else basis}


def within_unit(share: Row) -> Row:
    """A share whose interval ends where shares do."""
    if share["low"] is None:
        return share
    return share | {end: min(max(share[end], 0.0), 1.0) for end in ("low", "high")}


def behind(study: Study, arms: list[str], scenarios: list[str]) -> Row:
    """Usable cells of some arms in some scenarios, and whether any is synthetic."""
    places = [(arm, scenario) for arm in dict.fromkeys(arms) for scenario in scenarios]
    cells = [cell for place in places for cell in study.usable[place]]
    return {"cells": [c["cell"] for c in cells], "synthetic": any(c["synthetic"] for c in cells)}


def logs(study: Study, metric: str, arm: str, scenario: str) -> dict[int, float]:
    return by_seed(metric, study.usable[arm, scenario], study.plan["seeds"])


def requests(study: Study, arm: str, scenario: str) -> list[Row]:
    """Complete requests of usable cells."""
    rows = [r for cell in study.usable[arm, scenario] for r in study.requests_of[cell["cell"]]]
    return [row for row in rows if row["error"] is None]


def places(study: Study) -> list[tuple[str, str]]:
    scenarios = [scenario["id"] for scenario in study.plan["scenarios"]]
    return [(arm, scenario) for arm in study.plan["arms"] for scenario in scenarios]


def speculates(study: Study, arm: str) -> bool:
    return study.plan["arms"][arm]["speculation"]["method"] != "none"


# What is accepted, and what a step costs


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
            yield {
                "scenario": scenario,
                "arm": arm,
                "against": plain,
                "step_time": math.exp(level(ours)["value"]),
                "plain_step_time": math.exp(level(theirs)["value"]),
                "length": math.exp(level(length)["value"]),
                **spelled("cost", cost),
                **spelled("worth", worth),
                **seeds_and_basis(cost),
                **behind(study, [arm, plain], [scenario]),
            }


# Whether the answers are right, and the same


def answers(study: Study, arm: str, scenario: str) -> dict[int, dict[str, float]]:
    """Grades by seed and prompt, of prompts that every start answered; {} for fewer than two."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for row in requests(study, arm, scenario):
        if row["correct"] is not None:
            found[row["seed"]][row["prompt_id"]] = float(row["correct"])
    common = set.intersection(*map(set, found.values())) if found else set()
    return {s: {p: own[p] for p in common} for s, own in found.items()} if len(common) > 1 else {}


def accuracy(study: Study) -> Iterator[Row]:
    """Share correct, prompts and starts crossed."""
    for arm, scenario in places(study):
        if own := answers(study, arm, scenario):
            table = [list(start.values()) for start in own.values()]
            found = crossed(
                [[start[p] for p in sorted(start)] for start in own.values()], (1, 1, 0, 0)
            )
            key = {"scenario": scenario, "arm": arm, "prompts": len(table[0])}
            more = seeds_and_basis(found, len(own) == 1) | behind(study, [arm], [scenario])
            yield key | spelled("share", found, log=False) | more


def accuracy_pairs(study: Study) -> Iterator[Row]:
    """Share correct less another arm's, paired by start and prompt."""
    band = study.plan["band"].get("accuracy", 0.0)
    for scenario in (scenario["id"] for scenario in study.plan["scenarios"]):
        for arm, against in pairs_of(study.plan):
            ours, theirs = (answers(study, name, scenario) for name in (arm, against))
            starts = sorted(ours.keys() & theirs.keys())
            first = starts[0] if starts else None
            prompts = sorted(ours[first].keys() & theirs[first].keys()) if starts else []
            if len(prompts) < 2:
                continue
            pairs = [[(ours[s][p], theirs[s][p]) for p in prompts] for s in starts]
            found = crossed([[a - b for a, b in start] for start in pairs], (1, -1))
            yield {
                "scenario": scenario,
                "arm": arm,
                "against": against,
                **spelled("difference", found, log=False),
                "gained": sum(a > b for start in pairs for a, b in start),
                "lost": sum(a < b for start in pairs for a, b in start),
                "prompts": len(prompts),
                "band": band,
                "verdict": verdict(found, band),
                **seeds_and_basis(found, len(starts) == 1),
                **behind(study, [arm, against], [scenario]),
            }


def verdict(found: Row, band: float) -> str:
    """The word for a difference in shares; one start decides nothing."""
    if found["seeds"] < 2:
        return "undecided"
    if found["low"] > band or found["high"] < -band:
        return "better" if found["low"] > band else "worse"
    return "equivalent" if -band <= found["low"] and found["high"] <= band else "undecided"


def losslessness(study: Study) -> Iterator[Row]:
    """Outputs of speculating arms beside other starts of plain decoding, and those beside one
    another."""
    band, arms = study.plan["band"].get("identical_share", 0.0), study.plan["arms"]
    greedy = {s["id"] for s in study.plan["scenarios"] if s["sampling"]["temperature"] == 0}
    for plain in listed(study.plan["roles"].get("reference")):
        target = arms[plain]["target"]["pin"]
        for arm, scenario in places(study):
            sides = [requests(study, name, scenario) for name in (arm, plain)]
            alike = speculates(study, arm) and arms[arm]["target"]["pin"] == target
            if scenario in greedy and alike and all(sides):
                (ours, theirs), compared_as = outputs(study, sides)
                key = {"scenario": scenario, "arm": arm, "against": plain, "band": band}
                more = behind(study, [arm, plain], [scenario])
                yield key | agreement(ours, theirs, compared_as, band) | more


def outputs(study: Study, sides: list[list[Row]]) -> tuple[list[dict[int, dict]], str]:
    """Outputs by seed and prompt of two arms, as token ids where all have them, else as text."""
    raw = [[(row, study.raw_row(row["raw_file"], row["raw_row"])) for row in own] for own in sides]
    by_ids = all(answer["token_ids"] for own in raw for _, answer in own)
    tables = []
    for own in raw:
        table: dict[int, dict] = defaultdict(dict)
        for row, answer in own:
            text = answer["token_ids"] if by_ids else (answer["reasoning"] or "") + answer["text"]
            table[row["seed"]].setdefault(row["prompt_id"], text)
        tables.append(table)
    return tables, "token ids" if by_ids else "characters"


def agreement(ours: dict[int, dict], plain: dict[int, dict], compared_as: str, band: float) -> Row:
    """Run k of the arm beside plain run k + 1, and plain run k beside plain run k + 1."""
    starts = sorted(ours.keys() & plain.keys())
    sides = [side[start] for side in (ours, plain) for start in side]
    prompts = sorted(set.intersection(*map(set, sides)))
    if len(starts) < 2 or len(prompts) < 2:
        return {"verdict": "undecided", "seeds": 0, "basis": "no interval"}
    pairs = [(start, starts[(k + 1) % len(starts)]) for k, start in enumerate(starts)]
    # Two starts make one pair, whichever comes first.
    pairs = pairs if len(starts) > 2 else pairs[:1]
    row: Row = {"outputs": len(pairs) * len(prompts), "compared_as": compared_as}
    tables = []
    for name, side in (("", ours), ("control_", plain)):
        both = [[(side[a][p], plain[b][p]) for p in prompts] for a, b in pairs]
        tables.append([[float(x == y) for x, y in start] for start in both])
        apart = [first_difference(x, y) for start in both for x, y in start if x != y]
        row[f"{name}divergence"] = median(apart) if apart else None
    same, control = (crossed(table, (1, 1, 0, 0)) for table in tables)
    apart = [[a - b for a, b in zip(*both, strict=True)] for both in zip(*tables, strict=True)]
    difference = crossed(apart, (1, -1))
    row |= spelled("same", same, log=False) | spelled("control", control, log=False)
    row |= spelled("difference", difference, log=False) | {"verdict": verdict(difference, band)}
    return row | seeds_and_basis(difference, len(pairs) == 1)


def first_difference(a: list[int] | str, b: list[int] | str) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(a), len(b)))


# Where the speed came from, and what it costs


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
            key = {"scenario": scenario, "arm": arm, "slots": min(limits)}
            more = dict(zip(("queue", "prefill", "decode"), means, strict=True))
            more |= seeds_and_basis(found) | behind(study, [arm], [scenario])
            yield key | spelled("queueing", found, log=False) | more


def capacity(study: Study) -> Iterator[Row]:
    """Mean capacity over starts, and what it is below that of the arm named beside it."""
    names = {
        "kv_tokens": "kv_pool_tokens",
        "slots": "request_slots",
        "model_memory": "model_memory",
    }
    starts = sorted(study.sessions.values(), key=lambda start: start["started_at"])
    means: dict[str, Row] = {}
    for arm in study.plan["arms"]:
        for ours, name in names.items():
            known = [s[name] for s in starts if s["arm"] == arm and s[name] is not None]
            means.setdefault(arm, {})[ours] = fmean(known) if known else None
    for row in study.table("claims/capacity.parquet"):
        own, base = means[row["arm"]], means.get(row["against"], {}).get("kv_tokens")
        known = base is not None and own["kv_tokens"] is not None
        cost = base - own["kv_tokens"] if known else None
        both = [s["session"] for s in starts if s["arm"] in (row["arm"], row["against"])]
        more = {"arm": row["arm"], "sessions": both}
        yield more | own | {"kv_cost": cost, "kv_share": cost / base if known else None}


def startups(study: Study) -> Iterator[Row]:
    """The first start of an engine in the campaign, and the later ones."""
    starts = sorted(study.sessions.values(), key=lambda start: start["started_at"])
    for engine in {start["engine"] for start in starts}:
        own = [start for start in starts if start["engine"] == engine]
        later = [start["ready_after"] for start in own[1:]]
        yield {
            "engine": engine,
            "arm": own[0]["arm"],
            "cold": own[0]["ready_after"],
            "warm": fmean(later) if later else None,
            "warm_low": min(later, default=None),
            "warm_high": max(later, default=None),
            "starts": len(own),
            "sessions": [start["session"] for start in own],
        }


ARGUMENTS: dict[str, tuple[Callable[[Study], Iterator[Row]], tuple[str, ...]]] = {
    "acceptance": (acceptance, ("scenario", "arm", "category")),
    "positions": (positions, ("scenario", "arm", "position")),
    "steps": (steps, ("scenario", "arm", "against")),
    "accuracy": (accuracy, ("scenario", "arm")),
    "accuracy_pairs": (accuracy_pairs, ("scenario", "arm", "against")),
    "losslessness": (losslessness, ("scenario", "arm", "against")),
    "waterfall": (waterfall, ("scenario", "step")),
    "waits": (waits, ("scenario", "arm")),
    "capacity": (capacity, ("arm",)),
    "startups": (startups, ("engine",)),
}
