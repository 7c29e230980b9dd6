"""One row a measured request: the timings and counts that a raw row states or implies."""

from collections.abc import Iterator, Mapping

MS = 1000.0


def request_rows(
    raw: list[dict], grades: Mapping[tuple[str, int], dict], first: int
) -> Iterator[dict]:
    """Rows of `schema.REQUESTS` (study and raw_file aside) for the measured rows of one cell.

    `raw` are rows of requests.parquet in file order, the first of them at row `first`; `grades`
    maps (cell, request) to a grade row.
    """
    for offset, row in enumerate(raw):
        if row["phase"] != "measured":
            continue
        grade = grades.get((row["cell"], row["request"]), {})
        chunks = [tokens for tokens in row["chunk_tokens"] or [] if tokens > 0]
        counted = bool(chunks)
        steps = row["step_accepted"] or []
        drafted = row["step_drafted"] or []
        yield {
            **{key: row[key] for key in _COPIED},
            "ttft": _ms(row["t_first"], row["t_send"]),
            "tpot": _tpot(row),
            "latency": _ms(row["t_end"], row["t_send"]),
            # The first chunk carries the token that prefill sampled.
            "steps": len(chunks) - 1 if counted else None,
            "drafted_steps": len(steps) or None,
            "draft_tokens": sum(drafted) if steps else None,
            "accepted_tokens": sum(steps) if steps else None,
            "largest_chunk": max(chunks) if counted else None,
            "correct": grade.get("correct"),
            "outcome": grade.get("outcome"),
            "degenerate": grade.get("degenerate"),
            "raw_row": first + offset,
        }


_COPIED = (
    "cell",
    "arm",
    "scenario",
    "seed",
    "session",
    "request",
    "prompt_id",
    "category",
    "prompt_sha256",
    "prompt_tokens",
    "completion_tokens",
    "finish_reason",
    "error",
)


def _ms(end: float | None, start: float | None) -> float | None:
    return (end - start) * MS if end is not None and start is not None else None


def _tpot(row: dict) -> float | None:
    """(last - first) / (completion tokens - 1): tokens by the server's usage, never chunks."""
    tokens = row["completion_tokens"]
    if not tokens or tokens < 2 or row["t_first"] is None or row["t_last"] is None:
        return None
    return (row["t_last"] - row["t_first"]) * MS / (tokens - 1)
