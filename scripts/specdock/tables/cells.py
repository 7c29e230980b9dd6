"""One row a cell: rates, latencies, acceptance, grades and energy of its measured window."""

from collections.abc import Mapping
from statistics import fmean, median

from specdock.plan.spec import ArmSpec, ScenarioSpec
from specdock.runs.power import WindowEnergy
from specdock.tables.acceptance import (
    Steps,
    lengths_from_chunks,
    lengths_from_counters,
    lengths_from_steps,
    lengths_from_totals,
)
from specdock.tables.evidence import Evidence
from specdock.tables.validity import Observed, reasons, remarks


def cell_row(
    arm: ArmSpec,
    scenario: ScenarioSpec,
    facts: Mapping,
    requests: list[dict],
    raw: list[dict],
    counters: Mapping,
    energy: WindowEnergy | None,
    session: Mapping,
    evidence: list[Evidence],
) -> dict:
    """A row of `schema.CELLS`, study and raw_file aside.

    `facts` is the cell's entry in the manifest, `requests` its rows of `schema.REQUESTS` and `raw`
    the measured raw rows that they were made from, `counters` the engine's counter deltas over the
    window, `session` the manifest entry of the engine start.
    """
    complete = [row for row in requests if row["error"] is None]
    answered = [row for row in raw if row["error"] is None]
    steps = Steps.from_lists(
        [row["step_accepted"] or [] for row in answered],
        [row["step_drafted"] or [] for row in answered],
    )
    chunks = [row["chunk_tokens"] or [] for row in answered]
    drafting = _drafting(complete, counters)
    prefix_hits = counters.get("prefix_hit_tokens", _cached(answered))
    tokens = sum(row["completion_tokens"] for row in complete)
    graded = [row for row in complete if row["correct"] is not None]
    accuracy = sum(row["correct"] for row in graded) / len(graded) if graded else None
    degenerate = sum(bool(row["degenerate"]) for row in complete)
    seen = Observed(
        failed=len(requests) - len(complete),
        requests=len(requests),
        completion_tokens=tokens,
        counted_tokens=counters.get("generation_tokens"),
        draft_tokens=drafting["draft_tokens"],
        prefix_hit_tokens=prefix_hits,
        preemptions=counters.get("preemptions"),
        degenerate=degenerate,
        accuracy=accuracy,
        client_cpu=_share(facts["client_cpu"], facts["wall"]),
        loop_lag=facts["loop_lag"],
        largest_chunk=max((row["largest_chunk"] or 0 for row in complete), default=0),
        other_processes=bool((session.get("gpu") or {}).get("other_processes")),
        energy_counter=energy.counter if energy else None,
        energy_trapezoid=energy.trapezoid if energy else None,
        dirty=bool(session["dirty"]),
        busy=(session.get("host") or {}).get("busy") or 0.0,
    )
    return {
        "scenario": scenario.id,
        "cell": facts["cell"],
        "session": facts["session"],
        "workload": scenario.workload,
        "streams": scenario.streams,
        "sampling": scenario.sampling_name,
        "fixed_length": scenario.fixed_length,
        "synthetic": arm.synthetic,
        "usable": not (why := reasons(arm, scenario, seen, evidence)),
        "reasons": why,
        "remarks": remarks(arm, scenario, seen),
        "requests": len(requests),
        "window_start": facts["window_start"],
        "wall": facts["wall"],
        "prompt_tokens": sum(row["prompt_tokens"] for row in complete),
        "completion_tokens": tokens,
        "output_rate": tokens / facts["wall"],
        **_latencies(complete, scenario),
        **_acceptance(complete, drafting, steps, chunks),
        "graded": len(graded),
        "correct": sum(row["correct"] for row in graded) if graded else None,
        "accuracy": accuracy,
        "degenerate": degenerate,
        "prefix_hit_tokens": prefix_hits,
        "preemptions": counters.get("preemptions"),
        **_energy(energy, tokens, len(complete)),
        "client_cpu": seen.client_cpu,
        "loop_lag": seen.loop_lag,
        "raw_rows": [row["raw_row"] for row in requests],
    }


def _share(spent: float | None, wall: float) -> float | None:
    """Null where another client generated the load, whose own cost nobody told."""
    return spent / wall if spent is not None else None


def _latencies(rows: list[dict], scenario: ScenarioSpec) -> dict:
    ttft = [row["ttft"] for row in rows if row["ttft"] is not None]
    tpot = [row["tpot"] for row in rows if row["tpot"] is not None]
    stops = [row["finish_reason"] == "stop" for row in rows if row["finish_reason"] is not None]
    alone = scenario.streams == 1 and ttft
    return {
        "ttft_median": median(ttft) if ttft else None,
        "ttft_mean": fmean(ttft) if ttft else None,
        "tpot_median": median(tpot) if tpot else None,
        "latency_median": median(row["latency"] for row in rows) if rows else None,
        "prefill_rate": sum(r["prompt_tokens"] for r in rows) * 1000 / sum(ttft) if alone else None,
        "finished_stop": fmean(stops) if stops else None,
    }


def _cached(rows: list[dict]) -> int | None:
    """Prompt tokens served from a cache by the usage of the requests; None where none says."""
    told = [row["cached_tokens"] for row in rows if row.get("cached_tokens") is not None]
    return sum(told) if told else None


def _drafting(rows: list[dict], counters: Mapping) -> dict:
    """Drafts and draft tokens by the engine's counters, else summed over its accounts of requests;
    None where it tells neither."""
    told = {"drafts": "drafted_steps", "draft_tokens": "draft_tokens"}
    told["accepted_tokens"] = "accepted_tokens"
    found: dict = {"accepted_at_position": counters.get("accepted_at_position")}
    for name, column in told.items():
        values = [row[column] for row in rows if row[column] is not None]
        found[name] = counters.get(name, sum(values) if values else None)
    return found


def _acceptance(rows: list[dict], drafting: dict, steps: Steps, chunks: list) -> dict:
    drafts, drafted = drafting["drafts"], drafting["draft_tokens"]
    accepted, positions = drafting["accepted_tokens"], drafting["accepted_at_position"]
    spent = [row["steps"] for row in rows]
    decode = sum(row["tpot"] * (row["completion_tokens"] - 1) for row in rows if row["tpot"])
    total = sum(spent) if rows and None not in spent else None
    lengths: dict[str, float] = {}
    if drafted:
        tokens = [row["completion_tokens"] for row in rows]
        # Step lists count steps even where a lagging client merged chunks.
        lengths = (
            lengths_from_steps(tokens, steps)
            or _lengths_from_accounts(rows)
            or lengths_from_chunks(chunks)
        )
        lengths |= lengths_from_counters(drafts, accepted) if drafts else {}
    return {
        "drafts": drafts,
        "draft_tokens": drafted,
        "accepted_tokens": accepted,
        "acceptance_rate": accepted / drafted if drafted else None,
        "accepted_per_position": [v / drafts for v in positions.values()]
        if positions and drafts
        else None,
        "verification_steps": total,
        "step_time": decode / total if total else None,
        **{name.replace("al.", "al_"): value for name, value in lengths.items()},
    }


def _lengths_from_accounts(rows: list[dict]) -> dict[str, float]:
    drafted = [row for row in rows if row["draft_tokens"]]
    verified = [row["drafted_steps"] for row in drafted]
    return lengths_from_totals(
        [row["completion_tokens"] for row in drafted],
        [row["steps"] for row in drafted],
        [row["accepted_tokens"] for row in drafted],
        None if None in verified else verified,
    )


def _energy(energy: WindowEnergy | None, tokens: int, requests: int) -> dict:
    if energy is None:
        return {}
    joules = energy.counter
    return {
        "power": energy.mean_power,
        "energy_counter": joules,
        "energy_trapezoid": energy.trapezoid,
        "energy_coverage": energy.coverage,
        "tokens_per_joule": tokens / joules if joules else None,
        "joules_per_request": joules / requests if joules and requests else None,
        "peak_memory": energy.peak_memory,
        "card_busy": energy.busy,
    }
