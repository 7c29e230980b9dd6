"""One row a measured request: the timings and counts that a raw row states or implies."""

from collections.abc import Iterator, Mapping

from specdock.tables.acceptance import Steps, ledger
from specdock.tables.accounts import Account, account_of

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
        account = _account(row)
        yield {
            **{key: row[key] for key in _COPIED},
            "ttft": _ms(row["t_first"], row["t_send"]),
            "tpot": _tpot(row),
            "latency": _ms(row["t_end"], row["t_send"]),
            "steps": _steps(row, chunks, account),
            "drafted_steps": account.verified if account else None,
            "draft_tokens": account.drafted if account else None,
            "accepted_tokens": account.accepted if account else None,
            "largest_chunk": max(chunks, default=None),
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


def _account(row: dict) -> Account | None:
    """Totals of drafting: by the engine's list of steps, else by its own account."""
    if accepted := row["step_accepted"]:
        drafted = row["step_drafted"]
        return Account(sum(accepted), sum(drafted), sum(drafts > 0 for drafts in drafted))
    return account_of(row["engine_metrics"])


def _steps(row: dict, chunks: list[int], account: Account | None) -> int | None:
    """Decode steps: by the engine's own list, else by its account of the request, else by chunks,
    the first of which is prefill's."""
    if row["step_accepted"] and row["completion_tokens"]:
        listed = Steps.from_lists([row["step_accepted"]], [row["step_drafted"]])
        balance = ledger([row["completion_tokens"]], listed)
        return int(balance.verified[0] + balance.undrafted[0])
    if account is not None and row["completion_tokens"]:
        return account.steps(row["completion_tokens"])
    return len(chunks) - 1 if chunks else None


def _ms(end: float | None, start: float | None) -> float | None:
    return (end - start) * MS if end is not None and start is not None else None


def _tpot(row: dict) -> float | None:
    """(last - first) / (completion tokens - 1): tokens by the server's usage, never chunks."""
    tokens = row["completion_tokens"]
    if not tokens or tokens < 2 or row["t_first"] is None or row["t_last"] is None:
        return None
    return (row["t_last"] - row["t_first"]) * MS / (tokens - 1)
