"""Acceptance under every definition that the data allow; a number never travels without its id.

`al.counter` is 1 + accepted / drafts of the engine's counters, which count before a stop truncates.
`al.committed`, our base, is (completion - 1) / decode steps, pooled: the true tokens per step. The
others are what engines and model cards print: a mean over requests of 1 + accepted / steps
(`al.req_macro`) or of completion / steps (`al.tok_per_verify_macro`), and the pooled completion /
steps (`al.tok_per_verify_micro`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from specdock.errors import SpecdockError

Lists = Sequence[Sequence[int]]
Floats = NDArray[np.float64]


class LedgerError(SpecdockError):
    """Step lists that contradict one another."""


@dataclass(frozen=True)
class Steps:
    """Verification steps of some requests, one row a step: request number, accepted, drafted."""

    request: NDArray[np.int64]
    accepted: NDArray[np.int64]
    drafted: NDArray[np.int64]
    requests: int

    @classmethod
    def from_lists(cls, accepted: Lists, drafted: Lists) -> "Steps":
        """From the columns `step_accepted` and `step_drafted` of requests.parquet."""
        lengths = np.array([len(row) for row in accepted], dtype=int)
        if [len(row) for row in drafted] != lengths.tolist():
            raise LedgerError("step_accepted and step_drafted differ in length in some request")
        return cls(
            np.repeat(np.arange(len(lengths)), lengths),
            _flat(accepted),
            _flat(drafted),
            len(lengths),
        )

    def per_request(self, values: ArrayLike) -> NDArray[np.float64]:
        """Sum over each request's steps."""
        return np.bincount(self.request, weights=values, minlength=self.requests)


@dataclass(frozen=True)
class Ledger:
    """Token account per request: completion = 1 + sum(1 + accepted) + undrafted - truncated.

    `undrafted` steps emit one token without a draft; `truncated` tokens were accepted beyond the
    stop. Where the engine lists only drafting steps, the smaller account that balances is taken.
    """

    verified: NDArray[np.int64]
    accepted: NDArray[np.int64]
    undrafted: NDArray[np.int64]
    truncated: NDArray[np.int64]
    holds: NDArray[np.bool_]


def ledger(completion: ArrayLike, steps: Steps) -> Ledger:
    """Balance every request; it holds when 0 <= truncated <= most drafts of a step."""
    drafting = steps.drafted > 0
    verified = steps.per_request(drafting).astype(int)
    accepted = steps.per_request(steps.accepted).astype(int)
    listed = steps.per_request(~drafting).astype(int)
    surplus = 1 + verified + accepted + listed - np.asarray(completion, dtype=int)
    most = np.zeros(steps.requests, dtype=int)
    np.maximum.at(most, steps.request, steps.drafted)
    return Ledger(
        verified=verified,
        accepted=accepted,
        undrafted=listed + np.maximum(-surplus, 0),
        truncated=np.maximum(surplus, 0),
        holds=surplus <= most,
    )


def lengths_from_steps(completion: ArrayLike, steps: Steps) -> dict[str, float]:
    """Every definition but the counters', from step lists; {} if nothing was drafted."""
    completion = np.asarray(completion, dtype=float)
    account = ledger(completion, steps)
    used = account.verified > 0
    if not used.any():
        return {}
    verified = account.verified[used]
    return _lengths(
        completion[used], verified + account.undrafted[used], verified, account.accepted[used]
    )


def _lengths(tokens: Floats, steps: Floats, verified: Floats, accepted: Floats) -> dict[str, float]:
    return {
        "al.committed": float((tokens - 1).sum() / steps.sum()),
        "al.req_macro": float(np.mean(1 + accepted / verified)),
        "al.tok_per_verify_macro": float(np.mean(tokens / verified)),
        "al.tok_per_verify_micro": float(tokens.sum() / verified.sum()),
    }


def committed_steps(completion: int, accepted: int, verified: int | None) -> int:
    """Decode steps of a request from its totals: completion = 1 + steps + accepted - truncated.

    Without the engine's count of verification steps, what was accepted beyond the stop makes this
    too low, by less than the drafts of one step.
    """
    return max(completion - 1 - accepted, verified or 0)


def lengths_from_totals(
    completion: ArrayLike, steps: ArrayLike, accepted: ArrayLike, verified: ArrayLike | None
) -> dict[str, float]:
    """Every definition but the counters', from totals of the requests that drafted.

    Without the engine's count of verification steps only `al.committed` can be told.
    """
    tokens, decode = np.asarray(completion, dtype=float), np.asarray(steps, dtype=float)
    if decode.sum() == 0:
        return {}
    if verified is None:
        return {"al.committed": float((tokens - 1).sum() / decode.sum())}
    return _lengths(tokens, decode, np.asarray(verified), np.asarray(accepted))


def lengths_from_chunks(chunk_tokens: Lists) -> dict[str, float]:
    """`al.committed` from streamed chunks, where an engine sends token ids, one chunk a step.

    The first chunk is the prefill's. A client that lags merges chunks and reads too high, so step
    lists are to be preferred; {} where some chunk's tokens are unknown (-1) or nothing follows.
    """
    later = _flat([row[1:] for row in chunk_tokens])
    if later.size == 0 or any(-1 in row for row in chunk_tokens):
        return {}
    return {"al.committed": float(later.mean())}


def lengths_from_counters(drafts: int, accepted: int) -> dict[str, float]:
    """`al.counter` from the change of the engine's counters over a cell; {} without a draft."""
    return {"al.counter": 1 + accepted / drafts} if drafts > 0 else {}


def by_category(requests: pd.DataFrame) -> pd.DataFrame:
    """Definitions as columns, categories as rows, from columns category, completion_tokens,
    step_accepted and step_drafted of requests.parquet."""
    found = {
        category: lengths_from_steps(
            rows["completion_tokens"], Steps.from_lists(rows["step_accepted"], rows["step_drafted"])
        )
        for category, rows in requests.groupby("category")
    }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("category")


def by_position(steps: Steps) -> pd.DataFrame:
    """Acceptance by draft position (from 1), over the steps that drafted so far.

    Columns: `drafted`, steps with a draft at this position; `accepted` of them; `unconditional` =
    accepted / drafted; `conditional` = accepted / those whose draft before was accepted as well.
    """
    positions = np.arange(1, steps.drafted.max(initial=0) + 1)
    drafted = (steps.drafted >= positions[:, None]).sum(1)
    accepted = (steps.accepted >= positions[:, None]).sum(1)
    reached = (
        (steps.drafted >= positions[:, None]) & (steps.accepted >= positions[:, None] - 1)
    ).sum(1)
    return pd.DataFrame(
        {
            "position": positions,
            "drafted": drafted,
            "accepted": accepted,
            "unconditional": accepted / drafted,
            "conditional": np.divide(
                accepted, reached, out=np.full(positions.shape, np.nan), where=reached > 0
            ),
        }
    )


def conditional_rates(unconditional: ArrayLike) -> NDArray[np.float64]:
    """Conditional acceptance by position from the engine's counters (share of drafts accepted at
    each position), for a fixed draft length: each share over the one before."""
    shares = np.asarray(unconditional, dtype=float)
    before = np.concatenate([[1.0], shares[:-1]])
    return np.divide(shares, before, out=np.full(shares.shape, np.nan), where=before > 0)


def step_time(decode_seconds: ArrayLike, steps: ArrayLike) -> float:
    """Milliseconds per decode step: summed (last - first token) over summed steps, per request."""
    return float(1000 * np.sum(decode_seconds) / np.sum(steps))


def break_even(speculative_step: float, plain_step: float) -> float:
    """Acceptance length at which a speculative step pays for itself, from step times in one unit.

    Below it speculation is slower than plain decoding, whatever is accepted (Leviathan, Kalman &
    Matias 2023, theorem 3.8, with the cost of a step measured instead of modelled).
    """
    return speculative_step / plain_step


def _flat(lists: Lists) -> NDArray[np.int64]:
    rows = [np.asarray(row, dtype=int) for row in lists]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=int)
