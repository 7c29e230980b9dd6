"""Whether the answers are right, and the same as without speculation."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from verification.cells import imposes
from verification.claims import listed, pairs_of
from verification.measured import behind, places, requests, seeds_and_basis, speculates, spelled
from verification.statistics import share, share_difference
from verification.study import Row, Study


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
            table = [[start[p] for p in sorted(start)] for start in own.values()]
            found = share(table)
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
            found = share_difference([[a - b for a, b in start] for start in pairs])
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
            alike = alike and not imposes(arms[arm])
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
    same, control = map(share, tables)
    apart = [[a - b for a, b in zip(*both, strict=True)] for both in zip(*tables, strict=True)]
    difference = share_difference(apart)
    row |= spelled("same", same, log=False) | spelled("control", control, log=False)
    row |= spelled("difference", difference, log=False) | {"verdict": verdict(difference, band)}
    return row | seeds_and_basis(difference, len(pairs) == 1)


def first_difference(a: list[int] | str, b: list[int] | str) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(a), len(b)))
