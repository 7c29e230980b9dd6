"""NVIDIA's AIPerf. Its raw export holds every event of every stream, with the time it came."""

import json
from dataclasses import replace
from pathlib import Path

import orjson

from specdock.clients.contract import (
    ClientFailed,
    Figures,
    Generated,
    Load,
    read_lines,
    write_lines,
)
from specdock.engines.contract import SERVED_NAME, as_arguments
from specdock.plan.fingerprint import canonical
from specdock.runs.exchange import Exchange
from specdock.runs.requests import RequestRow
from specdock.runs.stream import BadStream
from specdock.workloads.prompts import Prompt

_SUMMARY = "profile_export_aiperf.json"
_RAW = "profile_export_raw.jsonl"
_NANO = 1e-9


class AIPerf:
    """Sends bodies verbatim (its data set type `raw_payload`), in order, at a concurrency."""

    exports = (_SUMMARY, _RAW)

    def command(self, python: Path, load: Load, folder: Path) -> list[str]:
        """`aiperf profile`; counters of the server and of cards are left to others."""
        prompts = folder / "bodies.jsonl"
        write_lines(prompts, load.bodies)
        flags = {
            "--model": SERVED_NAME,
            "--url": load.base_url,
            "--endpoint-type": "chat",
            "--streaming": True,
            "--tokenizer": str(load.tokenizer),
            "--use-server-token-count": True,
            "--custom-dataset-type": "raw_payload",
            "--input-file": str(prompts),
            "--dataset-sampling-strategy": "sequential",
            "--request-count": len(load.bodies),
            "--concurrency": load.streams,
            "--request-timeout-seconds": load.timeout,
            "--random-seed": 0,
            "--export-level": "raw",
            "--output-artifact-dir": str(folder),
            "--no-server-metrics": True,
            "--no-gpu-telemetry": True,
            "--ui-type": "none",
        }
        return [str(python), "-m", "aiperf", "profile", *as_arguments(flags | load.flags)]

    def figures(self, folder: Path) -> Figures:
        """From its summary; it calls TPOT inter-token latency and the median p50."""
        told = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
        try:
            return Figures(
                requests=round(told["request_count"]["avg"]),
                completion_tokens=round(told["total_osl"]["avg"]),
                output_rate=told["output_token_throughput"]["avg"],
                ttft_median=told["time_to_first_token"]["p50"],
                tpot_median=told["inter_token_latency"]["p50"],
            )
        except KeyError as missing:
            raise ClientFailed(f"{folder / _SUMMARY}: AIPerf tells no {missing}") from None

    def rows(self, folder: Path, load: Load) -> Generated:
        """One row a record. AIPerf tells neither which stream sent it nor when that was free."""
        records = sorted(read_lines(folder / _RAW), key=lambda record: record["start_perf_ns"])
        if not records:
            raise ClientFailed(f"{folder / _RAW}: AIPerf recorded no request")
        prompts = {canonical(prompt.messages): prompt for prompt in load.prompts}
        zero = records[0]["start_perf_ns"]
        rows = [
            _row(number, record, zero, prompts, folder / _RAW)
            for number, record in enumerate(records)
        ]
        return Generated(rows, records[0]["metadata"]["request_start_ns"] * _NANO)


def _row(
    number: int, record: dict, zero: int, prompts: dict[str, Prompt], file: Path
) -> RequestRow:
    payload = record.get("payload") or {}
    prompt = prompts.get(canonical(payload.get("messages")))
    if prompt is None:
        raise ClientFailed(f"{file}: record {number} asks what AIPerf was not given")
    exchange = Exchange(number, prompt, orjson.dumps(payload))
    exchange.status = record.get("status")
    start, metadata = record["start_perf_ns"], record["metadata"]
    lasted = metadata["request_end_ns"] - metadata["request_start_ns"]
    exchange.t_enqueue = exchange.t_send = (start - zero) * _NANO
    exchange.t_end = (start - zero + lasted) * _NANO
    try:
        for message in record["responses"]:
            now = (message["perf_ns"] - zero) * _NANO
            for packet in message.get("packets", []):
                if packet["name"] == "data":
                    exchange.answer.take(packet["value"].encode(), now)
        exchange.answer.check_complete()
    except BadStream as fault:
        exchange.error = str(fault)
    if (error := record.get("error")) is not None:
        exchange.error = error.get("message") or str(error)
    return replace(exchange.row("measured", zero=0.0), t_enqueue=None)
