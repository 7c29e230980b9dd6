"""The physical limit: what the memory bus allows each arm, from the bytes that a step must read.

Bytes come from the headers of the checkpoint's own files, as each session recorded them; the
bandwidth is a stated fact of the hardware, else what the session measured by copying in memory.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa

from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
)
from specdock.claims.intervals import Estimate, mean_over_runs, ratio
from specdock.claims.roofline import Drafting, roofline, step_bytes
from specdock.columns import column
from specdock.runs.checkpoint import Weights

LIMIT = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "arm"),
        column("step_gigabytes", pa.float64(), "bytes that a decode step must read", "GB"),
        column("bandwidth", pa.float64(), "memory bandwidth", "GB/s"),
        column("bandwidth_from", pa.string(), "where the bandwidth is from"),
        column("length", pa.float64(), "tokens per step: acceptance length, or 1", "tokens"),
        column("limit", pa.float64(), "most output that the bandwidth allows", "tok/s"),
        column("rate", pa.float64(), "output rate measured", "tok/s"),
        *with_interval("reached", "output rate over the limit"),
        *BEHIND,
    ]
)
# Methods whose drafter fills its whole block in one pass; others make one pass a draft token.
_ONE_PASS = {"dflash", "dflash2", "dspark"}
_KV_BYTES = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "float32": 4}
_GIGA = 1e9


def limit(measured: Measured) -> Iterator[dict]:
    """Rows of `LIMIT`, where the sessions recorded their checkpoints and a bandwidth is known."""
    by_arm = {arm: rows.iloc[0] for arm, rows in measured.sessions.groupby("arm")}
    context = _context(measured)
    for scenario, arm in product(measured.scenarios, measured.arms):
        start = by_arm.get(arm)
        rates = measured.values("output_rate", [arm], [scenario])[0, 0]
        if start is None or not _counted(start["checkpoints"]) or np.isnan(rates).all():
            continue
        spec = measured.plan["arms"][arm]
        bandwidth, source = _bandwidth(measured, start, spec["engine"]["device"])
        length = _length(measured, arm, scenario)
        if bandwidth is None or length is None:
            continue
        streams = min(measured.scenarios[scenario]["streams"], _slots(start))
        size = _step(spec, start["checkpoints"], streams, context[scenario])
        most = roofline(size, bandwidth * _GIGA, float(length.value), streams)
        rate = mean_over_runs(rates)
        yield {
            "scenario": scenario,
            "arm": arm,
            "step_gigabytes": size / _GIGA,
            "bandwidth": bandwidth,
            "bandwidth_from": source,
            "length": number(length.value),
            "limit": most,
            "rate": number(rate.value),
            **spelled("reached", ratio(rates, np.full_like(rates, most))),
            **based_on(rate),
            **measured.behind([arm], [scenario]),
        }


def _counted(checkpoints: Mapping) -> bool:
    """Whether the bytes of the target, and of the drafter if there is one, were counted."""
    target, drafter = checkpoints.get("target"), checkpoints.get("drafter")
    return bool(target and target["weights"] and (not drafter or drafter["weights"]))


def _bandwidth(
    measured: Measured, start: pd.Series, device: str
) -> tuple[float | None, str | None]:
    """GB/s, and where from: stated of this hardware, else copied by the session, if its engine
    computes on the processor."""
    stated = measured.facts.get(f"{measured.plan['hardware']}/memory-bandwidth")
    if stated is not None:
        return stated.value, stated.source
    if device != "cpu":
        return None, None
    return start["host"].get("copy_bandwidth"), "a copy in memory before the engine started"


def _length(measured: Measured, arm: str, scenario: str) -> Estimate | None:
    """Tokens per step; None where a speculating arm's acceptance is not known."""
    if not measured.speculates(arm):
        return mean_over_runs([1.0])
    lengths = measured.values("al_committed", [arm], [scenario])[0, 0]
    return None if np.isnan(lengths).all() else mean_over_runs(lengths)


def _context(measured: Measured) -> Mapping[str, int]:
    """Mean tokens behind a token that is being written, by scenario."""
    cells = measured.cells
    behind = (cells["prompt_tokens"] + cells["completion_tokens"] / 2) / cells["requests"]
    return behind.groupby(cells["scenario"]).mean().astype(int).to_dict()


def _step(spec: Mapping, checkpoints: Mapping, streams: int, context: int) -> float:
    """Bytes that one step of `streams` requests reads, drafting included."""
    target = Weights(**checkpoints["target"]["weights"])
    speculation, drafter = spec["speculation"], checkpoints.get("drafter")
    drafts = speculation.get("draft_tokens") or 0
    own = Weights(**drafter["weights"]) if drafter else None
    bytes_per_pass = target.mtp + target.head if speculation["method"] == "mtp" else 0
    if own:
        bytes_per_pass = own.body + (own.head or target.head)
    drafting = Drafting(bytes_per_pass, 1 if speculation["method"] in _ONE_PASS else drafts)
    element = spec["serve"].get("kv_cache_dtype") or spec["serve"].get("dtype")
    return step_bytes(
        target,
        checkpoints["target"]["config"],
        sequences=streams,
        context_tokens=context,
        kv_element_bytes=_KV_BYTES.get(element, 2),
        draft_tokens=drafts,
        drafting=drafting,
    )


def _slots(start: pd.Series) -> int:
    slots = start["request_slots"]
    return int(slots) if slots and not np.isnan(slots) else np.iinfo(np.int32).max
