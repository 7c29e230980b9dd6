"""Exports as the three clients leave them, written from rows of requests that a test invents.

The forms are those of AIPerf 0.13.0, vLLM 0.32.0 and SGLang 0.5.23; each summary follows from the
requests by that client's own definitions.
"""

import gzip
import json
import math
from datetime import datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from statistics import median

BASE = 10**12  # ns; clocks do not start at zero


def aiperf(rows: list[dict], folder: Path) -> None:
    """profile_export_raw.jsonl.gz and profile_export_aiperf.json."""
    _pack(folder / "profile_export_raw.jsonl.gz", [_aiperf_record(row) for row in rows])
    tokens = sum(row["completion_tokens"] for row in rows)
    begin = datetime(2026, 11, 29, 9)
    end = begin + timedelta(seconds=0.01 + max(row["t_end"] for row in rows))
    told = {
        "request_count": {"unit": "requests", "avg": float(len(rows))},
        "total_osl": {"unit": "tokens", "avg": float(tokens)},
        "output_token_throughput": {
            "unit": "tokens/sec",
            "avg": tokens / (end - begin).total_seconds(),
        },
        "start_time": begin.isoformat(),
        "end_time": end.isoformat(),
        "time_to_first_token": {"unit": "ms", "p50": 1000 * median(map(_wait, rows))},
        "inter_token_latency": {"unit": "ms", "p50": 1000 * median(map(_pace, rows))},
    }
    (folder / "profile_export_aiperf.json").write_text(json.dumps(told), encoding="utf-8")


def vllm_bench(rows: list[dict], folder: Path) -> None:
    """bench.json."""
    lists = _lists(rows)
    told = {
        "completed": len(rows),
        "failed": 0,
        "total_output_tokens": sum(lists["output_lens"]),
        "duration": max(row["t_end"] for row in rows),
        "output_throughput": sum(lists["output_lens"]) / max(row["t_end"] for row in rows),
        "median_ttft_ms": 1000 * median(map(_wait, rows)),
        "median_tpot_ms": 1000 * median(map(_pace, rows)),
    }
    (folder / "bench.json").write_text(json.dumps(told | lists), encoding="utf-8")


def sglang_bench(rows: list[dict], folder: Path) -> None:
    """bench.jsonl.gz and client.log, which tells when each request was sent."""
    lists = _lists(rows)
    told = {
        "request_rate": math.inf,
        "completed": len(rows),
        "total_output_tokens": sum(lists["output_lens"]),
        "duration": max(row["t_end"] for row in rows),
        "output_throughput": sum(lists["output_lens"]) / max(row["t_end"] for row in rows),
        "median_ttft_ms": 1000 * median(map(_wait, rows)),
        "median_tpot_ms": 1000
        * median(
            (row["t_end"] - row["chunk_times"][0]) / (row["completion_tokens"] - 1) for row in rows
        ),
    }
    _pack(folder / "bench.jsonl.gz", [told | lists])
    log = []
    for number, row in enumerate(rows):
        seed, start, end = json.loads(row["body"])["seed"], row["t_send"], row["t_end"]
        asked = f"RequestFuncInput(prompt='...', extra_request_body={{'seed': {seed}}})"
        log += [
            f'rid={number} time={BASE / 1e9 + start} message="request start" '
            f'request_func_input="{asked}"',
            f"rid={number} time={BASE / 1e9 + end} time_delta={end - start} "
            'message="request end" output="RequestFuncOutput()"',
        ]
    (folder / "client.log").write_text("\n".join(log) + "\n", encoding="utf-8")


EXPORTS = {"aiperf": aiperf, "vllm-bench": vllm_bench, "sglang-bench": sglang_bench}


def _wait(row: dict) -> float:
    return row["chunk_times"][0] - row["t_send"]


def _pace(row: dict) -> float:
    return (row["chunk_times"][-1] - row["chunk_times"][0]) / (row["completion_tokens"] - 1)


def _lists(rows: list[dict]) -> dict:
    return {
        "input_lens": [row["prompt_tokens"] for row in rows],
        "output_lens": [row["completion_tokens"] for row in rows],
        "ttfts": [_wait(row) for row in rows],
        "itls": [[b - a for a, b in pairwise(row["chunk_times"])] for row in rows],
        "generated_texts": [row["text"] for row in rows],
        "errors": ["" for _ in rows],
    }


def _aiperf_record(row: dict) -> dict:
    begin, end = (round(row[name] * 1e9) + BASE for name in ("t_send", "t_end"))
    return {
        "metadata": {"request_start_ns": begin, "request_end_ns": end},
        "start_perf_ns": begin,
        "payload": json.loads(row["body"]),
        "status": 200,
        "responses": [
            {
                "perf_ns": round(at * 1e9) + BASE,
                "packets": [{"name": "data", "value": data}],
            }
            for at, data in _events(row)
        ],
    }


def _events(row: dict) -> list[tuple[float, str]]:
    """The stream of an answer: a chunk with text and ids each time, usage, the end."""
    frame = {"object": "chat.completion.chunk"}
    words, ids = row["text"].split(" "), iter(row["token_ids"])
    share = -(-len(words) // len(row["chunk_times"]))
    events = []
    for number, (at, count) in enumerate(zip(row["chunk_times"], row["chunk_tokens"], strict=True)):
        text = " ".join(words[number * share : (number + 1) * share])
        choice = {"index": 0, "delta": {"content": f" {text}" if number and text else text}}
        choice |= {"token_ids": [*islice(ids, count)], "finish_reason": None}
        if number == len(row["chunk_times"]) - 1:
            choice["finish_reason"] = row["finish_reason"]
        events.append((at, json.dumps(frame | {"choices": [choice]})))
    usage = {name: row[name] for name in ("prompt_tokens", "completion_tokens")}
    events.append((row["t_end"], json.dumps(frame | {"choices": [], "usage": usage})))
    return [*events, (row["t_end"], "[DONE]")]


def _pack(path: Path, values: list[dict]) -> None:
    text = "".join(json.dumps(value) + "\n" for value in values)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
