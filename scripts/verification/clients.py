"""Other people's clients: raw rows against the exports that they were read from; the comparison of
clients, ours from its raw rows, theirs from their exports, both anew.

What a client reports is also computed again from the requests in its own export, as far as that
tells: a figure that does not follow from them is a break.
"""

import gzip
import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from statistics import median

from verification.cells import is_synthetic
from verification.claims import METRICS
from verification.statistics import between, level
from verification.study import (
    BrokenLink,
    Row,
    Spec,
    Study,
    compare_tables,
    read_json,
    read_rows,
    sha256,
)

OURS = "specdock"
COMPARED = ("output_rate", "ttft_median", "tpot_median")
# Exports round: AIPerf states the ends of its window in microseconds.
ROUNDED = 1e-5


def check_generated(study: Study) -> Iterator[str]:
    """Raw rows of cells that another client measured say what its export says."""
    count = 0
    for pack in study.packs:
        for facts in pack.manifest["cells"]:
            if generator := pack.scenarios[facts["cell"]]["load_generator"]:
                place = pack.path / "exports" / facts["cell"]
                told = TOLD[generator["client"]["adapter"]](place)
                rows = [row for _, row in pack.measured(facts["cell"])]
                rows.sort(key=lambda row: row["t_send"])
                where = f"{pack.shown}/requests.parquet, {facts['scenario']}"
                compare_tables(where, [{key: row[key] for key in told[0]} for row in rows], told)
                count += len(rows)
    if count:
        yield f"{count} raw rows that other clients measured say what their exports say"


def aiperf_requests(place: Path) -> list[Row]:
    """Requests in the order of sending, with times in seconds from when the first was sent."""
    records = lines(place / "profile_export_raw.jsonl.gz")
    records.sort(key=lambda record: record["start_perf_ns"])
    zero, told = records[0]["start_perf_ns"], []
    for record in records:
        events = events_of(record)
        tokens = [(at, event) for at, event in events if any(map(is_token, event["choices"]))]
        choices = [choice for _, event in events for choice in event["choices"]]
        told.append(
            {
                "t_send": (record["start_perf_ns"] - zero) / 1e9,
                "chunk_times": [(at - zero) / 1e9 for at, _ in tokens],
                "text": "".join((c.get("delta") or {}).get("content") or "" for c in choices),
                "finish_reason": next(c["finish_reason"] for c in choices if c["finish_reason"]),
                "completion_tokens": usage_of(events)["completion_tokens"],
                "prompt_tokens": usage_of(events)["prompt_tokens"],
            }
        )
    return told


def sglang_requests(place: Path) -> list[Row]:
    """The same of SGLang's client, which sends in the order of its lists; when each was sent is in
    what it printed."""
    (export,) = lines(place / "bench.jsonl.gz")
    log = (place / "client.log").read_text(encoding="utf-8")
    starts = sorted(map(float, re.findall(r'time=([\d.]+) message="request start"', log)))
    told = []
    for number, start in enumerate(starts):
        waits = [export["ttfts"][number], *export["itls"][number]]
        passed = accumulate(waits, initial=start - starts[0])
        told.append(
            {
                "t_send": start - starts[0],
                "chunk_times": [*passed][1:],
                "text": export["generated_texts"][number],
                "completion_tokens": export["output_lens"][number],
                "prompt_tokens": export["input_lens"][number],
            }
        )
    return told


TOLD = {"aiperf": aiperf_requests, "sglang-bench": sglang_requests}


def check_peers(study: Study) -> Iterator[str]:
    """Recomputes claims/peers.parquet, where the study compares clients."""
    if not study.plan.get("peers"):
        return
    shown = f"{study.shown}/peers/{study.plan['peers']['fingerprint']}"
    folder = study.root / shown
    manifest = read_json(folder / "manifest.json")
    for name, stated in manifest["files"].items():
        if (found := sha256(folder / name)) != stated:
            raise BrokenLink(f"{shown}/{name}: sha256 is {found}, its manifest {stated}")
    spec = json.loads(json.dumps(manifest["spec"]), object_hook=Spec)
    session, turns = spec["session"], range(1, study.plan["peers"]["rounds"] + 1)
    rows = []
    for client in spec["clients"]:
        names = OURS, client["name"]
        places = {name: [folder / f"round-{turn}/{name}" for turn in turns] for name in names}
        ours = [own_figures(place) for place in places[OURS]]
        theirs = [FIGURES[client["client"]["adapter"]](place) for place in places[client["name"]]]
        files = [
            path.relative_to(study.root).as_posix()
            for name in names
            for place in places[name]
            for path in place.iterdir()
        ]
        for metric in COMPARED:
            band = study.plan["band"].get(metric, 0.0)
            rows.append(
                {
                    "client": client["name"],
                    "arm": session["arm"]["name"],
                    "scenario": session["cells"][0]["scenario"]["id"],
                    "metric": metric,
                    "unit": METRICS[metric].unit,
                    "definition": METRICS[metric].definition,
                    "their_definition": client["client"]["definitions"][metric],
                    **compared([f[metric] for f in ours], [f[metric] for f in theirs], band),
                    "rounds": len(turns),
                    "band": band,
                    "files": sorted(files),
                    "synthetic": is_synthetic(session["arm"]),
                }
            )
    where = f"{study.shown}/claims/peers.parquet"
    compare_tables(where, study.table("claims/peers.parquet"), rows, "client", "metric")
    yield f"{len(rows)} figures of other clients follow from their exports, ours from raw rows"


def compared(ours: list[float], theirs: list[float], band: float) -> Row:
    """Both levels, their ratio round by round with its interval, and what it says."""
    own = {turn: math.log(value) for turn, value in enumerate(ours)}
    other = {turn: math.log(value) for turn, value in enumerate(theirs)}
    apart = between(other, own)
    edge = math.log1p(band)
    words = {
        "higher": apart["low"] > edge,
        "lower": apart["high"] < -edge,
        "equivalent": apart["low"] >= -edge and apart["high"] <= edge,
        "undecided": True,
    }
    return {
        "ours": math.exp(level(own)["value"]),
        "theirs": math.exp(level(other)["value"]),
        "ratio": math.exp(apart["value"]),
        "low": math.exp(apart["low"]),
        "high": math.exp(apart["high"]),
        "within_noise": apart["low"] <= 0 <= apart["high"],
        "verdict": next(word for word, holds in words.items() if holds),
    }


def own_figures(place: Path) -> Row:
    """Our client's figures of a round, from its raw rows."""
    rows = [row for row in read_rows(place / "requests.parquet") if row["phase"] == "measured"]
    return {
        "output_rate": sum(r["completion_tokens"] for r in rows) / max(r["t_end"] for r in rows),
        "ttft_median": 1000 * median(r["t_first"] - r["t_send"] for r in rows),
        "tpot_median": 1000
        * median(
            (r["t_last"] - r["t_first"]) / (r["completion_tokens"] - 1)
            for r in rows
            if r["completion_tokens"] > 1
        ),
    }


def aiperf_figures(place: Path) -> Row:
    """AIPerf's summary, which must follow from the events of its raw export; its rate is over its
    own window, from before the first request is handed out to after the last is back."""
    told = read_json(place / "profile_export_aiperf.json")
    stated = {
        "output_rate": told["output_token_throughput"]["avg"],
        "ttft_median": told["time_to_first_token"]["p50"],
        "tpot_median": told["inter_token_latency"]["p50"],
    }
    ttft, tpot, tokens = [], [], 0
    begin, end = (datetime.fromisoformat(told[name]) for name in ("start_time", "end_time"))
    for record in lines(place / "profile_export_raw.jsonl.gz"):
        events = events_of(record)
        content = [at for at, event in events if any(map(says_something, event["choices"]))]
        count = usage_of(events)["completion_tokens"]
        start = record["start_perf_ns"]
        ttft.append((content[0] - start) / 1e6)
        if count > 1:
            tpot.append((content[-1] - content[0]) / (count - 1) / 1e6)
        tokens += count
    found = {
        "output_rate": tokens / (end - begin).total_seconds(),
        "ttft_median": median(ttft),
        "tpot_median": median(tpot),
    }
    return agreed(place, stated, found)


def events_of(record: Row) -> list[tuple[int, Row]]:
    """Events of a stream as AIPerf recorded them, with the nanosecond at which each came."""
    return [
        (message["perf_ns"], json.loads(packet["value"]))
        for message in record["responses"]
        for packet in message["packets"]
        if packet["name"] == "data" and packet["value"] != "[DONE]"
    ]


def usage_of(events: list[tuple[int, Row]]) -> Row:
    return next(event["usage"] for _, event in events if event.get("usage"))


def says_something(choice: Row) -> bool:
    delta = choice.get("delta") or {}
    return bool(delta.get("content") or delta.get("reasoning") or delta.get("reasoning_content"))


def is_token(choice: Row) -> bool:
    return says_something(choice) or bool(choice.get("token_ids"))


def vllm_figures(place: Path) -> Row:
    """The result of `vllm bench serve`, which must follow from its per-request lists."""
    told = read_json(place / "bench.json")
    stated = {
        "output_rate": told["output_throughput"],
        "ttft_median": told["median_ttft_ms"],
        "tpot_median": told["median_tpot_ms"],
    }
    counts = zip(told["itls"], told["output_lens"], strict=True)
    found = {
        "output_rate": sum(told["output_lens"]) / told["duration"],
        "ttft_median": 1000 * median(told["ttfts"]),
        "tpot_median": 1000 * median(sum(itls) / (n - 1) for itls, n in counts if n > 1),
    }
    return agreed(place, stated, found)


def sglang_figures(place: Path) -> Row:
    """SGLang's result, as far as it follows from its lists: they lack when an answer ended."""
    (told,) = lines(place / "bench.jsonl.gz")
    stated = {
        "output_rate": told["output_throughput"],
        "ttft_median": told["median_ttft_ms"],
        "tpot_median": told["median_tpot_ms"],
    }
    found = {
        "output_rate": sum(told["output_lens"]) / told["duration"],
        "ttft_median": 1000 * median(told["ttfts"]),
    }
    return agreed(place, stated, found)


FIGURES = {"aiperf": aiperf_figures, "vllm-bench": vllm_figures, "sglang-bench": sglang_figures}


def agreed(place: Path, stated: Row, found: Row) -> Row:
    """The stated figures, if they follow from the requests beside them."""
    for name, value in found.items():
        if not math.isclose(stated[name], value, rel_tol=ROUNDED):
            raise BrokenLink(
                f"{place}: reports {name} {stated[name]!r}, of its requests follows {value!r}"
            )
    return stated


def lines(path: Path) -> list[Row]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise BrokenLink(f"{path}: {error}") from None
