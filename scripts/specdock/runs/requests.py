"""One row a request: everything that was sent, seen and timed, as the raw file keeps it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import pyarrow as pa

from specdock.columns import column

_CELL = [
    column("cell", pa.string(), "fingerprint of arm, scenario and seed"),
    column("arm", pa.string(), "served configuration"),
    column("scenario", pa.string(), "workload@streams, with its sampling setting if not greedy"),
    column("seed", pa.int32(), "replicate: a fresh engine start"),
    column("session", pa.string(), "engine start that answered"),
]

# Times are seconds on the client's monotonic clock; zero is the start of the measured window.
REQUEST_SCHEMA = pa.schema(
    [
        *_CELL,
        column("phase", pa.string(), "warmup or measured"),
        column("request", pa.int32(), "order of sending within the phase, from 0"),
        column("stream", pa.int32(), "closed-loop worker that sent it, from 0"),
        column("prompt_id", pa.string(), "prompt of the data set"),
        column("category", pa.string(), "subject of the prompt, where the data set names one"),
        column(
            "body",
            pa.string(),
            "JSON body exactly as sent; of a case of BFCL, its requests: body, times, text, usage",
        ),
        column("prompt_sha256", pa.string(), "sha256 of what prompt_hash_of names"),
        column(
            "prompt_hash_of",
            pa.string(),
            "token_ids (the engine's prompt token ids as little-endian int32), messages (their "
            "canonical JSON) or first_prompt (of a case that BFCL asks in several requests)",
        ),
        column("t_enqueue", pa.float64(), "the stream was free for this request", "s"),
        column("t_send", pa.float64(), "request written to the connection", "s"),
        column("t_first", pa.float64(), "first chunk with content, reasoning or token ids", "s"),
        column("t_last", pa.float64(), "last chunk with content, reasoning or token ids", "s"),
        column("t_end", pa.float64(), "stream closed, or given up", "s"),
        column("chunk_times", pa.list_(pa.float64()), "arrival of each such chunk", "s"),
        column(
            "chunk_tokens",
            pa.list_(pa.int32()),
            "tokens of each such chunk by its token ids; -1 where the engine gives none",
            "tokens",
        ),
        column("text", pa.string(), "content of the answer"),
        column("reasoning", pa.string(), "reasoning of the answer, apart from its content"),
        column("token_ids", pa.list_(pa.int32()), "token ids of the answer, where given"),
        column("finish_reason", pa.string(), "as the server states it, such as stop or length"),
        column("prompt_tokens", pa.int32(), "by the server's usage", "tokens"),
        column("completion_tokens", pa.int32(), "by the server's usage", "tokens"),
        column("cached_tokens", pa.int32(), "by the server's usage", "tokens"),
        column(
            "step_accepted",
            pa.list_(pa.int32()),
            "draft tokens accepted in each verification step, where the engine tells",
            "tokens",
        ),
        column(
            "step_drafted",
            pa.list_(pa.int32()),
            "draft tokens verified in each verification step, where the engine tells",
            "tokens",
        ),
        column("engine_metrics", pa.string(), "the engine's own account of the request, JSON"),
        column("fingerprint", pa.string(), "system_fingerprint of the answer"),
        column("status", pa.int32(), "HTTP status"),
        column("error", pa.string(), "why the request failed; null if it is complete"),
    ]
)


@dataclass(frozen=True)
class RequestRow:
    """What the client knows of one request: `REQUEST_SCHEMA` without the columns of the cell."""

    phase: str
    request: int
    stream: int | None
    prompt_id: str
    category: str | None
    body: str
    prompt_sha256: str
    prompt_hash_of: str
    t_enqueue: float
    t_end: float
    t_send: float | None = None
    t_first: float | None = None
    t_last: float | None = None
    chunk_times: list[float] = field(default_factory=list)
    chunk_tokens: list[int] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    token_ids: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    step_accepted: list[int] = field(default_factory=list)
    step_drafted: list[int] = field(default_factory=list)
    engine_metrics: str | None = None
    fingerprint: str | None = None
    status: int | None = None
    error: str | None = None


def as_table(
    rows: Iterable[RequestRow], *, cell: str, arm: str, scenario: str, seed: int, session: str
) -> pa.Table:
    """The rows of one cell as a table of `REQUEST_SCHEMA`."""
    of_cell = {"cell": cell, "arm": arm, "scenario": scenario, "seed": seed, "session": session}
    return pa.Table.from_pylist([of_cell | asdict(row) for row in rows], REQUEST_SCHEMA)
