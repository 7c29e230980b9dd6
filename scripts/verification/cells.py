"""One row a cell from its requests, counters and samples: rates, acceptance, energy, validity."""

import math
from bisect import bisect_right
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median

from verification.study import Pack, Row, compare, to_milliseconds

LENGTHS = (
    "al_committed", "al_counter", "al_req_macro", "al_tok_per_verify_macro",
    "al_tok_per_verify_micro",
)  # fmt: skip


def cell_from_raw(
    pack: Pack,
    facts: Row,
    rows: list[Row],
    counted: dict,
    samples: list[Row],
    start: Row,
    log: list,
) -> Row:
    """What a cell's row of the tables must say; `rows` are its requests as computed here."""
    arm, scenario = pack.spec["arm"], pack.scenarios[facts["cell"]]
    complete = [row for row in rows if row["error"] is None]
    raw = [row for _, row in pack.measured(facts["cell"]) if row["error"] is None]
    every = [row["t_end"] for row in pack.rows if row["cell"] == facts["cell"]]
    where, wall = f"{pack.shown}/manifest.json, {scenario['id']}", max(every)
    compare(where, facts, {"wall": wall, "scenario": scenario["id"]}, whole=False)
    start_of_window = datetime.fromisoformat(facts["window_start"])
    tokens = sum(row["completion_tokens"] for row in complete)
    graded = [row["correct"] for row in complete if row["correct"] is not None]
    told = [row["cached_tokens"] for row in raw if row["cached_tokens"] is not None]
    ttft = [row["ttft"] for row in complete if row["ttft"] is not None]
    tpot = [row["tpot"] for row in complete if row["tpot"] is not None]
    prompt_tokens = sum(row["prompt_tokens"] for row in complete)
    endings = [row["finish_reason"] for row in complete if row["finish_reason"] is not None]
    cell = {
        **{name: rows[0][name] for name in ("study", "arm", "scenario", "seed", "cell", "session")},
        "workload": scenario["workload"],
        "streams": scenario["streams"],
        "sampling": scenario["sampling_name"],
        "engine": arm["engine_name"],
        "fixed_length": bool(scenario["fixed_length"]),
        "synthetic": is_synthetic(arm),
        "requests": len(rows),
        "window_start": to_milliseconds(start_of_window),
        "wall": wall,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": tokens,
        "output_rate": tokens / wall,
        "ttft_median": median(ttft) if ttft else None,
        "ttft_mean": fmean(ttft) if ttft else None,
        "tpot_median": median(tpot) if tpot else None,
        "latency_median": median(row["latency"] for row in complete) if complete else None,
        "prefill_rate": 1000 * prompt_tokens / sum(ttft)
        if scenario["streams"] == 1 and ttft
        else None,
        "finished_stop": fmean(ended == "stop" for ended in endings) if endings else None,
        **acceptance(complete, raw, counted),
        "graded": len(graded),
        "correct": sum(graded) if graded else None,
        "accuracy": fmean(graded) if graded else None,
        "degenerate": sum(bool(row["degenerate"]) for row in complete),
        "prefix_hit_tokens": counted.get("prefix_hit_tokens", sum(told) if told else None),
        "preemptions": counted.get("preemptions"),
        **energy(samples, start_of_window.timestamp(), wall),
        # Nobody tells the cost of a client that is not ours.
        "client_cpu": None if facts["client_cpu"] is None else facts["client_cpu"] / wall,
        "loop_lag": facts["loop_lag"],
        "raw_file": rows[0]["raw_file"],
        "raw_rows": [row["raw_row"] for row in rows],
    }
    joules = cell["energy_counter"]
    cell["tokens_per_joule"] = tokens / joules if joules else None
    cell["joules_per_request"] = joules / len(complete) if joules and complete else None
    cell["reasons"] = reasons(arm, scenario, cell, rows, counted, start, log)
    cell["remarks"] = remarks(arm, scenario, cell, complete, start)
    cell["usable"] = not cell["reasons"]
    return cell


def is_synthetic(arm: Row) -> bool:
    weights = [arm["target"], arm["drafter"]]
    dummy = any(pinned["checkpoint"]["synthetic"] for pinned in weights)
    return dummy or imposes(arm)


def imposes(arm: Row) -> bool:
    """Whether an arm's acceptance was imposed, whatever its drafter wrote."""
    return any(value for key, value in arm["speculation"].items() if key.startswith("imposed_"))


def acceptance(complete: list[Row], raw: list[Row], counted: dict) -> Row:
    """Drafting by the engine's counters, else by its accounts; acceptance under each definition."""
    found: Row = {}
    columns = {"drafts": "drafted_steps", "draft_tokens": "draft_tokens"}
    for name, column in (columns | {"accepted_tokens": "accepted_tokens"}).items():
        told = [row[column] for row in complete if row[column] is not None]
        found[name] = counted.get(name, sum(told) if told else None)
    drafts, drafted, accepted = found["drafts"], found["draft_tokens"], found["accepted_tokens"]
    positions = counted.get("accepted_at_position")
    steps = [row["steps"] for row in complete]
    total = sum(steps) if steps and None not in steps else None
    decode = sum(row["tpot"] * (row["completion_tokens"] - 1) for row in complete if row["tpot"])
    lengths = dict.fromkeys(LENGTHS)
    drafting = [row for row in complete if row["draft_tokens"]]
    chunks = [row["chunk_tokens"] or [] for row in raw]
    later = [count for row in chunks for count in row[1:]]
    if drafted and drafting and (spent := sum(row["steps"] for row in drafting)):
        tokens = [row["completion_tokens"] for row in drafting]
        lengths["al_committed"] = (sum(tokens) - len(tokens)) / spent
        verified = [row["drafted_steps"] for row in drafting]
        if None not in verified:
            kept = [row["accepted_tokens"] for row in drafting]
            per_step = [1 + k / v for k, v in zip(kept, verified, strict=True)]
            lengths["al_req_macro"] = fmean(per_step)
            ratios = [t / v for t, v in zip(tokens, verified, strict=True)]
            lengths["al_tok_per_verify_macro"] = fmean(ratios)
            lengths["al_tok_per_verify_micro"] = sum(tokens) / sum(verified)
    elif drafted and later and not any(-1 in row for row in chunks):
        lengths["al_committed"] = fmean(later)
    if drafted and drafts:
        lengths["al_counter"] = 1 + accepted / drafts
    return (
        found
        | lengths
        | {
            "acceptance_rate": accepted / drafted if drafted else None,
            "accepted_per_position": [positions[p] / drafts for p in sorted(positions)]
            if positions and drafts
            else None,
            "verification_steps": total,
            "step_time": decode / total if total else None,
        }
    )


def energy(samples: list[Row], begin: float, wall: float) -> Row:
    """Energy of a window by the board's counter and by the trapezoid rule over its samples."""
    end = begin + wall
    names = ("power", "energy_counter", "energy_trapezoid", "energy_coverage", "peak_memory")
    found: Row = dict.fromkeys((*names, "card_busy"))
    if not samples:
        return found
    timed = [(sample["time"].timestamp(), sample) for sample in samples]
    counter = [(t, s["energy"] / 1000) for t, s in timed if s["energy"] is not None]
    rising = all(a[1] <= b[1] for a, b in pairwise(counter))
    if len(counter) > 1 and rising and counter[0][0] <= begin and end <= counter[-1][0]:
        found["energy_counter"] = line_at(counter, end) - line_at(counter, begin)
    watts = [(t, s["power"]) for t, s in timed if s["power"] is not None]
    joules = covered = 0.0
    for (t0, _), (t1, _) in pairwise(watts):
        left, right = (min(max(t, begin), end) for t in (t0, t1))
        # Samples more than a second apart say nothing of the time between them.
        if t1 - t0 <= 1.0 and right > left:
            joules += (line_at(watts, left) + line_at(watts, right)) / 2 * (right - left)
            covered += right - left
    found["energy_coverage"] = covered / (end - begin)
    if covered:
        found["energy_trapezoid"] = joules
        found["power"] = joules / (found["energy_coverage"] * wall)
    inside = [sample for t, sample in timed if begin <= t <= end]
    memory = [sample["memory"] for sample in inside if sample["memory"] is not None]
    busy = [s["utilisation"] for s in inside if s["utilisation"] is not None]
    found["peak_memory"] = max(memory, default=None)
    found["card_busy"] = fmean(busy) / 100 if busy else None
    return found


def line_at(points: list[tuple[float, float]], x: float) -> float:
    """The polyline through points at x, which lies between the first and the last of them."""
    place = min(max(bisect_right(points, (x, math.inf)), 1), len(points) - 1)
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def drafts_of(speculation: Row, streams: float) -> int:
    """Draft tokens of a step of so many requests, by the schedule if there is one."""
    for levels, tokens in (speculation.get("schedule") or {}).items():
        first, _, last = str(levels).partition("-")
        if int(first) <= streams <= int(last or first):
            return tokens
    return speculation.get("draft_tokens") or 0


def reasons(
    arm: Row, scenario: Row, cell: Row, rows: list[Row], counted: dict, start: Row, log: list[Row]
) -> list[str]:
    """Why a cell must not be quoted."""
    facts = {item["fact"] for item in log}
    slack = len(rows) * (arm["speculation"]["draft_tokens"] or 0)
    counts, floor = counted.get("generation_tokens"), scenario["floor"]
    loops = cell["degenerate"] >= 0.5 * max(len(rows), 1) and not cell["synthetic"]
    drafts = drafts_of(arm["speculation"], scenario["streams"])
    under = floor and cell["accuracy"] is not None and cell["accuracy"] < floor
    disagree = counts is not None and abs(counts - cell["completion_tokens"]) > slack
    tests = {
        "nothing-drafted": drafts and not cell["draft_tokens"],
        "degenerate-output": loops,
        "below-floor": under,
        "warm-prefix-cache": cell["prefix_hit_tokens"] and not arm["serve"]["prefix_caching"],
        "evidence-missing": not facts.issuperset(arm["evidence"]["require"]),
        "evidence-forbidden": not facts.isdisjoint(arm["evidence"]["forbid"]),
        "tokens-disagree": disagree,
        "client-bottleneck": (cell["client_cpu"] or 0) > 0.7 or (cell["loop_lag"] or 0) > 250,
        "requests-failed": any(row["error"] is not None for row in rows),
        "other-work": (start["gpu"] or {}).get("other_processes"),
    }
    return [code for code, applies in tests.items() if applies]


def remarks(arm: Row, scenario: Row, cell: Row, complete: list[Row], start: Row) -> list[str]:
    """What a reader must know of a cell."""
    widest = max((row["largest_chunk"] or 0 for row in complete), default=0)
    counter, samples = cell["energy_counter"], cell["energy_trapezoid"]
    measured_twice = counter is not None and samples is not None
    tests = {
        "synthetic": cell["synthetic"],
        "fixed-length": scenario["fixed_length"],
        "some-degenerate": 0 < cell["degenerate"] < 0.5 * cell["requests"],
        "chunks-merged": widest > (arm["speculation"]["draft_tokens"] or 0) + 1,
        "energy-disagrees": measured_twice
        and abs(counter - samples) > 0.05 * max(counter, samples),
        "uncommitted-change": start["dirty"],
        "third-party-engine": arm["engine"]["note"],
        "busy-machine": ((start["host"] or {}).get("busy") or 0) > 0.25,
        "preempted": cell["preemptions"],
        "other-client": scenario["load_generator"],
    }
    return [code for code, applies in tests.items() if applies]
