"""Tables: every row of requests, sessions and cells, and every power sample, from the packs."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from verification.cells import cell_from_raw
from verification.study import (
    Pack,
    Row,
    Study,
    compare_tables,
    read_rows,
    read_text,
    to_milliseconds,
)


def check_tables(study: Study) -> Iterator[str]:
    """Recomputes every row of every table from the packs, in the order of the plan."""
    requests, cells, sessions, power = [], [], [], []
    for pack in study.packs:
        samples = read_rows(pack.path / "power.parquet")
        texts = {(m["cell"], m["moment"]): m for m in read_rows(pack.path / "metrics.parquet")}
        log = read_text(pack.path / "server.log").split("\n")
        power += samples
        for start in pack.manifest["sessions"]:
            name = start["session"]
            own = [cell for cell in pack.manifest["cells"] if cell["session"] == name]
            evidence = evidence_in(log, start["log_lines"], pack.spec["arm"]["engine"]["patterns"])
            text = texts[own[0]["cell"], "after"]["text"]
            sessions.append(session_from_raw(pack, start, evidence, text))
        starts = {start["session"]: start for start in pack.manifest["sessions"]}
        found = {row["session"]: row["evidence"] for row in sessions}
        for facts in pack.manifest["cells"]:
            own = [request_from_raw(pack, n, row) for n, row in pack.measured(facts["cell"])]
            requests += own
            before, after = (texts[facts["cell"], m]["text"] for m in ("before", "after"))
            counted = counters(before, after, pack.spec["arm"]["engine"]["counters"])
            window = [s for s in samples if s["session"] == facts["session"]]
            start = starts[facts["session"]]
            cells.append(
                cell_from_raw(pack, facts, own, counted, window, start, found[start["session"]])
            )
    where = f"{study.shown}/tables"
    compare_tables(f"{where}/power.parquet", study.table("tables/power.parquet"), power, "time")
    compare_tables(f"{where}/requests.parquet", study.requests, requests, "cell", "request")
    compare_tables(
        f"{where}/cells.parquet", study.table("tables/cells.parquet"), cells, "arm", "scenario"
    )
    compare_tables(
        f"{where}/sessions.parquet", study.table("tables/sessions.parquet"), sessions, "session"
    )
    yield (
        f"{len(requests)} requests, {len(cells)} cells, {len(sessions)} sessions and"
        f" {len(power)} power samples of the tables follow from the raw files"
    )


COPIED = (
    "cell", "arm", "scenario", "seed", "session", "request", "prompt_id", "category",
    "prompt_sha256", "prompt_tokens", "completion_tokens", "finish_reason", "error",
)  # fmt: skip


def request_from_raw(pack: Pack, number: int, row: Row) -> Row:
    """What a request's row of the tables must say; times in ms."""
    tokens, grade = row["completion_tokens"], pack.grades[row["cell"], row["request"]]
    first, last = row["t_first"], row["t_last"]
    drafting = drafting_of(row)
    chunks = [count for count in row["chunk_tokens"] or [] if count > 0]
    return {name: row[name] for name in COPIED} | {
        "study": pack.study.name,
        "ttft": 1000 * (first - row["t_send"]) if first is not None else None,
        "tpot": 1000 * (last - first) / (tokens - 1) if first is not None and tokens > 1 else None,
        "latency": 1000 * (row["t_end"] - row["t_send"]),
        "steps": decode_steps(row, drafting, chunks),
        "drafted_steps": drafting and drafting["steps"],
        "draft_tokens": drafting and drafting["drafted"],
        "accepted_tokens": drafting and drafting["accepted"],
        "largest_chunk": max(chunks, default=None),
        **{name: grade[name] for name in ("correct", "outcome", "degenerate")},
        "raw_file": f"{pack.shown}/requests.parquet",
        "raw_row": number,
    }


def drafting_of(row: Row) -> Row | None:
    """Steps that verified drafts, tokens drafted and accepted, as the engine tells of a request."""
    if row["step_accepted"]:
        verified = sum(count > 0 for count in row["step_drafted"])
        drafted, accepted = sum(row["step_drafted"]), sum(row["step_accepted"])
        return {"steps": verified, "drafted": drafted, "accepted": accepted}
    told = json.loads(row["engine_metrics"] or "{}")
    if sglang := told.get("sglext", {}).get("spec_tokens_details"):
        names = ("spec_verify_ct", "spec_num_proposed_drafts", "spec_num_correct_drafts")
        return dict(zip(("steps", "drafted", "accepted"), map(sglang.get, names), strict=True))
    if llama := told.get("timings"):
        drafted, accepted = llama.get("draft_n", 0), llama.get("draft_n_accepted", 0)
        return {"steps": None, "drafted": drafted, "accepted": accepted}
    return None


def decode_steps(row: Row, drafting: Row | None, chunks: list[int]) -> int | None:
    """Engine steps after prefill. Every token but the first is a step's own or was accepted; what
    was accepted beyond the stop makes tokens fewer, steps without a draft make them more."""
    if drafting and row["completion_tokens"]:
        own = row["completion_tokens"] - 1 - drafting["accepted"]
        listed = len(row["step_accepted"]) if row["step_accepted"] else drafting["steps"] or 0
        return max(own, listed)
    return len(chunks) - 1 if chunks else None


def counters(before: str, after: str, names: dict[str, str]) -> dict:
    """What the engine's counters grew by, by our name; by position where they have one."""
    start, end = read_counters(before, names), read_counters(after, names)
    grown: dict = {}
    for (name, position), value in end.items():
        value -= start.get((name, position), 0.0)
        if position is None:
            grown[name] = value
        else:
            grown.setdefault(name, {})[position] = value
    return grown


def read_counters(text: str, names: dict[str, str]) -> dict[tuple[str, int | None], float]:
    """Values in a Prometheus text, summed over label sets but for the label `position`."""
    ours = {theirs: name for name, theirs in names.items()}
    found: dict = defaultdict(float)
    for line in text.split("\n"):
        match = re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)", line)
        if match and match[1] in ours:
            position = re.search(r'(?:^|,)position="(\d+)"', match[2] or "")
            key = ours[match[1]], int(position[1]) if position else None
            found[key] += float(match[3])
    return found


def evidence_in(log: list[str], lines: list[int], patterns: dict[str, str]) -> list[Row]:
    """Every distinct statement of every fact in lines of a log, with the first that makes it."""
    found: dict[tuple, Row] = {}
    for number in range(lines[0], lines[1] + 1):
        for fact, pattern in patterns.items():
            if match := re.search(pattern, log[number - 1]):
                value = match[1] if match.re.groups else "yes"
                text = log[number - 1].rstrip()[:400]
                row = {"fact": fact, "value": value, "line": number, "text": text}
                found.setdefault((fact, value), row)
    return list(found.values())


def session_from_raw(pack: Pack, start: Row, evidence: list[Row], metrics: str) -> Row:
    """What a session's row of the tables must say."""
    arm, stated = pack.spec["arm"], {}
    for item in evidence:
        stated.setdefault(item["fact"], item["value"])
    number = {
        fact: float(value.replace(",", ""))
        for fact, value in stated.items()
        if re.fullmatch(r"\d[\d,]*(\.\d+)?", value)
    }
    pool = re.search(r'^\S*cache_config_info\{.*?\bkv_cache_size_tokens="([\d.]+)"', metrics, re.M)
    tokens = float(pool[1]) if pool else None
    endpoint, key = arm["engine"]["states_version"] or ("", "")
    version = start["identity"].get(endpoint)
    mebibytes = number.get("model_memory_mib")
    return {
        "study": pack.study.name,
        "arm": pack.arm,
        "seed": pack.seed,
        "session": start["session"],
        "engine": arm["engine_name"],
        "engine_version": version.get(key) if isinstance(version, dict) else None,
        "started_at": to_milliseconds(datetime.fromisoformat(start["started_at"])),
        "ready_after": start["ready_after"],
        "order": pack.spec["order"],
        "kv_pool_tokens": tokens or number.get("kv_pool_tokens"),
        "request_slots": number.get("request_slots") or arm["serve"]["request_slots"] or None,
        "recurrent_slots": number.get("recurrent_slots"),
        "model_memory": number.get("model_memory_gib", mebibytes and mebibytes / 1024),
        "argv": start["argv"],
        "environment": json.dumps(
            start["environment"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ),
        "lock_sha256": start["lock_sha256"],
        "target": pin_text(arm["target"]),
        "drafter": pin_text(arm["drafter"]) if arm["drafter"] else None,
        "checkpoints": json.dumps(start.get("checkpoints")),
        "gpu": json.dumps(start["gpu"]),
        "host": json.dumps(start["host"]),
        "commit": start["commit"],
        "dirty": start["dirty"],
        "evidence": evidence,
        "log_file": f"{pack.shown}/server.log",
        "manifest_file": f"{pack.shown}/manifest.json",
    }


def pin_text(pinned: Row) -> str:
    source = pinned["checkpoint"]["source"]
    where = source.get("repository") or source.get("package") or source.get("path")
    at = source.get("revision") or source.get("wheel_sha256") or pinned["pin"]
    return f"{pinned['name']}: {where}@{at}"
