"""What it costs beside speed: room in the KV pool, memory, and the time until an engine serves."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from specdock.claims.arguments.measured import Measured, number
from specdock.claims.decomposition import changed_factors, factors
from specdock.columns import column

_STARTS = [
    column("sessions", pa.list_(pa.string()), "engine starts behind it"),
    column("reason", pa.string(), "why there is no value"),
]
CAPACITY = pa.schema(
    [
        column("arm", pa.string(), "arm"),
        column("against", pa.string(), "arm that differs in its speculation alone, without any"),
        column("kv_tokens", pa.float64(), "capacity of the KV pool, mean over starts", "tokens"),
        column("kv_cost", pa.float64(), "tokens that the other arm's pool holds beyond", "tokens"),
        column("kv_share", pa.float64(), "the same as a share of the other arm's pool"),
        column("slots", pa.float64(), "requests that the engine runs at once"),
        column("model_memory", pa.float64(), "weights in memory, target and drafter", "GiB"),
        *_STARTS,
    ]
)
STARTUPS = pa.schema(
    [
        column("engine", pa.string(), "engine entry of config/engines.yaml"),
        column("arm", pa.string(), "arm whose start was the engine's first in the campaign"),
        column("cold", pa.float64(), "first start in the campaign to ready", "s"),
        column("warm", pa.float64(), "later starts to ready, mean", "s"),
        column("warm_low", pa.float64(), "the quickest of them", "s"),
        column("warm_high", pa.float64(), "the slowest of them", "s"),
        column("starts", pa.int32(), "starts of this engine"),
        *_STARTS,
    ]
)
_SPECULATION = {"speculation", "drafter"}


def capacity(measured: Measured) -> Iterator[dict]:
    """Rows of `CAPACITY`, one an arm that started."""
    means = {
        arm: own[["kv_pool_tokens", "request_slots", "model_memory"]].astype(float).mean()
        for arm, own in measured.sessions.groupby("arm")
        if arm in measured.arms
    }
    for arm in measured.arms:
        if arm not in means:
            continue
        own, base = means[arm], without_speculation(measured, arm, means)
        cost = means[base]["kv_pool_tokens"] - own["kv_pool_tokens"] if base else None
        yield {
            "arm": arm,
            "against": base,
            "kv_tokens": number(own["kv_pool_tokens"]),
            "kv_cost": number(cost),
            "kv_share": number(cost / means[base]["kv_pool_tokens"]) if base else None,
            "slots": number(own["request_slots"]),
            "model_memory": number(own["model_memory"]),
            "sessions": _sessions_of(measured, [arm, base]),
            "reason": None if base else "no arm differs from it in speculation alone",
        }


def startups(measured: Measured) -> Iterator[dict]:
    """Rows of `STARTUPS`: caches of compiled kernels are empty at an engine's first start."""
    for engine, starts in measured.sessions.groupby("engine", sort=False):
        first, later = starts.iloc[0], starts.iloc[1:]["ready_after"]
        yield {
            "engine": engine,
            "arm": first["arm"],
            "cold": number(first["ready_after"]),
            "warm": number(later.mean()) if len(later) else None,
            "warm_low": number(later.min()) if len(later) else None,
            "warm_high": number(later.max()) if len(later) else None,
            "starts": len(starts),
            "sessions": starts["session"].tolist(),
            "reason": None if len(later) else "this engine was started but this time",
        }


def without_speculation(measured: Measured, arm: str, started: Iterable[str]) -> str | None:
    """The arm that lacks this arm's speculation and differs in nothing else."""
    specs = measured.plan["arms"]
    if not measured.speculates(arm):
        return None
    plain = (other for other in started if not measured.speculates(other))
    alike = (
        o for o in plain if set(factors(changed_factors(specs[o], specs[arm]))) <= _SPECULATION
    )
    return next(alike, None)


def _sessions_of(measured: Measured, arms: list[str | None]) -> list[str]:
    rows = measured.sessions
    return rows[rows["arm"].isin(arms)]["session"].tolist()
