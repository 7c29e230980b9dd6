"""What an imposed acceptance length is worth, where it pays, and what was published beside it."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from verification.cells import drafts_of
from verification.measured import behind, logs, role, seeds_and_basis, spelled
from verification.speed import at, fine_grid, turning_point
from verification.statistics import between, level
from verification.study import Row, Study

LABELS = {"name", "note", "evidence", "ready_timeout"}


class Curve(NamedTuple):
    """Arms that ran a scenario, by rising imposed length; log rates by seed."""

    scenario: str
    family: str
    reference: str
    arms: list[str]
    lengths: list[float]
    rates: list[dict[int, float]]
    plain: dict[int, float]
    streams: int


def curves(study: Study) -> Iterator[Curve]:
    """Families of arms that differ in the imposed acceptance length alone, by scenario; a prompt
    cut to more than its answer measures prefill and is left out."""
    specs, references = study.plan["arms"], role(study, "reference")
    families: dict[str, dict[float, str]] = {}
    for arm, spec in specs.items():
        length = spec["speculation"].get("imposed_acceptance_length")
        if length is not None and references:
            said = {key: value for key, value in spec.items() if key not in LABELS}
            families.setdefault(repr(bare(said)), {}).setdefault(length, arm)
    for family in families.values():
        ordered = sorted(family.items())
        for scenario in study.plan["scenarios"]:
            place = scenario["id"]
            if (scenario.get("prompt_tokens") or 0) > scenario["max_tokens"]:
                continue
            plain = logs(study, "output_rate", references[0], place)
            whole = [(n, arm) for n, arm in ordered if drafts_whole(specs[arm], scenario)]
            ran = [(n, arm, logs(study, "output_rate", arm, place)) for n, arm in whole]
            ran = [(n, arm, rates) for n, arm, rates in ran if rates]
            if ran and plain:
                lengths, arms, rates = map(list, zip(*ran, strict=True))
                named = ", ".join(arm for _, arm in ordered)
                streams = scenario["streams"]
                yield Curve(place, named, references[0], arms, lengths, rates, plain, streams)


def drafts_whole(arm: Row, scenario: Row) -> bool:
    """A step that a schedule shortens does not keep what was imposed on a whole one."""
    told = arm["speculation"]
    return drafts_of(told, scenario["streams"]) == (told.get("draft_tokens") or 0)


def bare(spec: object) -> object:
    """A mapping without the imposed length, sorted, and without keys that say nothing."""
    if not isinstance(spec, dict):
        return spec
    kept = {key: bare(value) for key, value in sorted(spec.items())}
    kept.pop("imposed_acceptance_length", None)
    return {key: value for key, value in kept.items() if value is not None and value != {}}


def what_if(study: Study) -> Iterator[Row]:
    """Output rate over that of plain decoding at each imposed length."""
    for curve in curves(study):
        for arm, length, rates in zip(curve.arms, curve.lengths, curve.rates, strict=True):
            found = between(rates, curve.plain)
            counted = logs(study, "al_counter", arm, curve.scenario)
            yield {
                "scenario": curve.scenario,
                "arm": arm,
                "against": curve.reference,
                "arms": curve.family,
                "streams": curve.streams,
                "length": length,
                "counted": math.exp(level(counted)["value"]) if counted else None,
                "rate": math.exp(level(rates)["value"]),
                **spelled("speed_up", found),
                **seeds_and_basis(found),
                **behind(study, [arm, curve.reference], [curve.scenario]),
            }


def break_even(study: Study) -> Iterator[Row]:
    """The length at which a family is level with plain decoding, by interpolation of logarithms."""
    for curve in curves(study):
        found: Row = {"streams": None, "streams_low": None, "streams_high": None, "open": False}
        if len(curve.arms) > 1:
            points = fine_grid([math.log(length) for length in curve.lengths])
            gaps = [(x, between(at(curve.rates, i, part), curve.plain)) for x, (i, part) in points]
            found = turning_point(gaps)
        at_first = between(curve.rates[0], curve.plain)["value"] >= 0
        reached = found["streams"] is not None and not at_first
        nearest = 0 if at_first else -1
        beyond = spelled("extrapolated", between(curve.plain, curve.rates[nearest]))
        for name, value in beyond.items():
            gone = reached or value is None
            beyond[name] = None if gone else value * curve.lengths[nearest]
        known = (found["streams_low"], beyond["extrapolated_low"]) != (None, None)
        yield {
            "scenario": curve.scenario,
            "arms": curve.family,
            "against": curve.reference,
            "streams": curve.streams,
            **beyond,
            "first": curve.lengths[0],
            "last": curve.lengths[-1],
            "length": found["streams"] if reached else None,
            "length_low": found["streams_low"],
            "length_high": found["streams_high"],
            "open": found["open"],
            "place": "below the first" if at_first else "reached" if reached else "not reached",
            "basis": "between runs" if known else "no interval",
            "seeds": min(min(len(rates), len(curve.plain)) for rates in curve.rates),
            **behind(study, [*curve.arms, curve.reference], [curve.scenario]),
        }


def placed(study: Study) -> Iterator[Row]:
    """Our figure at a published acceptance length, and where its interval lies. The published side
    rests on the hash of its file."""
    by_place = {(curve.scenario, curve.family): curve for curve in curves(study)}
    for row in study.table("claims/placed.parquet"):
        curve = by_place.get((row["scenario"], row["arms"]))
        if curve is None:
            continue
        key = {name: row[name] for name in ("scenario", "arms", "acceptance", "figure", "length")}
        most = 1 + study.plan["arms"][curve.arms[0]]["speculation"]["draft_tokens"]
        rates, how = rates_at(curve, row["length"], most)
        mine: Row = {"ours": None, "ours_low": None, "ours_high": None}
        mine |= {"seeds": 0, "basis": "no interval"}
        if rates:
            same = row["metric"] == "output rate"
            found = level(rates) if same else between(rates, curve.plain)
            mine = spelled("ours", found) | seeds_and_basis(found)
        low, high = mine["ours_low"], mine["ours_high"]
        verdict = "not decidable"
        if low is not None:
            below, above = row["published_low"], row["published_high"]
            verdict = "inside" if below <= low and high <= above else verdict
            verdict = "above" if low > above else "below" if high < below else verdict
        arms = [*curve.arms, curve.reference]
        place = {"streams": curve.streams, "verdict": verdict, "how": how}
        yield key | mine | place | behind(study, arms, [curve.scenario])


def rates_at(curve: Curve, length: float, most: int) -> tuple[dict[int, float], str | None]:
    """Log rates by seed at a length and how they are known: in proportion beyond those imposed."""
    if length > most:
        return {}, None
    for imposed, rates in zip(curve.lengths, curve.rates, strict=True):
        if imposed == length:
            return rates, "measured"
    for i, after in enumerate(curve.lengths[1:]):
        before = curve.lengths[i]
        if before < length < after:
            part = math.log(length / before) / math.log(after / before)
            return at(curve.rates, i, part), "interpolated"
    nearest = 0 if length < curve.lengths[0] else -1
    more = math.log(length / curve.lengths[nearest])
    return {seed: rate + more for seed, rate in curve.rates[nearest].items()}, "extrapolated"
