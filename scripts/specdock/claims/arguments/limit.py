"""The physical limit: what the memory bus allows each arm, from the bytes that a step must read.

Bytes come from the headers of the checkpoint's own files, as each session recorded them. A dummy
checkpoint has none; then the engine's account of the memory that its weights took stands in. The
bandwidth is what the sessions copied in the memory that decoding reads, else what is stated of the
hardware.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa

from specdock.claims.arguments.bill import without_speculation
from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
)
from specdock.claims.gates import evaluate, threshold
from specdock.claims.intervals import Estimate, mean_over_runs, ratio
from specdock.claims.roofline import Drafting, as_served, roofline, step_bytes, weights_in_memory
from specdock.columns import column
from specdock.plan.values import drafts_at
from specdock.runs.checkpoint import Weights

LIMIT = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "arm"),
        column("step_gigabytes", pa.float64(), "bytes that a decode step must read", "GB"),
        column("bytes_from", pa.string(), "where the bytes are from"),
        column("bandwidth", pa.float64(), "memory bandwidth", "GB/s"),
        column("bandwidth_from", pa.string(), "where the bandwidth is from"),
        column("stated", pa.float64(), "bandwidth that is stated of the hardware", "GB/s"),
        column("read_time", pa.float64(), "time that reading them takes at this bandwidth", "ms"),
        column("length", pa.float64(), "tokens per step: acceptance length, or 1", "tokens"),
        column("limit", pa.float64(), "most output that the bandwidth allows", "tok/s"),
        column("rate", pa.float64(), "output rate measured", "tok/s"),
        *with_interval("reached", "output rate over the limit"),
        column("mark", pa.float64(), "share that plain decoding at one stream is asked to reach"),
        column("verdict", pa.string(), "whether it does, as a gate says it"),
        *BEHIND,
    ]
)
MARK = 0.85  # fixed before the first card was measured
# Methods whose drafter fills its whole block in one pass; others make one pass a draft token.
_ONE_PASS = {"dflash", "dflash2", "dspark"}
_ELEMENT = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "float32": 4}
_GIGA = 1e9
_GIGABYTES = {"GB/s": 1.0, "TB/s": 1000.0}

Counted = tuple[Weights, Weights | None]


def limit(measured: Measured) -> Iterator[dict]:
    """Rows of `LIMIT`, where something decodes, the sessions recorded their checkpoints, and a
    bandwidth is known."""
    by_arm = {arm: rows.iloc[0] for arm, rows in measured.sessions.groupby("arm")}
    counted = {arm: _counted(measured, arm) for arm in measured.arms if arm in by_arm}
    context = _context(measured)
    stated = _stated(measured)
    plain = measured.role("reference")
    for scenario, arm in product(filter(measured.decodes, measured.scenarios), measured.arms):
        rates = measured.values("output_rate", [arm], [scenario])[0, 0]
        if counted.get(arm) is None or np.isnan(rates).all():
            continue
        spec, start = measured.plan["arms"][arm], by_arm[arm]
        bandwidth, source = _bandwidth(measured, spec["engine"]["device"], stated)
        length = _length(measured, arm, scenario)
        if bandwidth is None or length is None:
            continue
        weights, bytes_from = counted[arm]
        streams = min(measured.scenarios[scenario]["streams"], _slots(start))
        config = start["checkpoints"]["target"]["config"]
        size = _step(spec, weights, config, streams, context[scenario])
        most = roofline(size, bandwidth * _GIGA, float(length.value), streams)
        rate = mean_over_runs(rates)
        reached = ratio(rates, np.full_like(rates, most))
        asked = arm in plain and measured.scenarios[scenario]["streams"] == 1
        yield {
            "scenario": scenario,
            "arm": arm,
            "step_gigabytes": size / _GIGA,
            "bytes_from": bytes_from,
            "bandwidth": bandwidth,
            "bandwidth_from": source,
            "stated": stated and stated[0],
            "read_time": 1000 * size / (bandwidth * _GIGA),
            "length": number(length.value),
            "limit": most,
            "rate": number(rate.value),
            **spelled("reached", reached),
            "mark": MARK if asked else None,
            "verdict": evaluate(reached, threshold(at_least=MARK)).outcome.value if asked else None,
            **based_on(rate),
            **measured.behind([arm], [scenario]),
        }


# Bandwidth


def _stated(measured: Measured) -> tuple[float, str] | None:
    """GB/s that a fact states of this hardware, and who states it."""
    fact = measured.facts.get(f"{measured.plan['hardware']}/memory-bandwidth")
    return (fact.value * _GIGABYTES[fact.unit], fact.source) if fact else None


def _bandwidth(
    measured: Measured, device: str, stated: tuple[float, str] | None
) -> tuple[float | None, str | None]:
    """GB/s, and where from: the best copy of all sessions in the memory of this device, else what
    is stated."""
    place = "host" if device == "cpu" else "gpu"
    copies = measured.sessions[place].map(lambda facts: facts.get("copy_bandwidth") or np.nan)
    if copies.isna().all():
        return stated or (None, None)
    best = measured.sessions.loc[copies.idxmax(), place]
    method = best.get("copy_method", "a copy in memory by all cores")
    return float(copies.max()), f"{method}, before the engine started"


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


# Bytes


def _counted(measured: Measured, arm: str) -> tuple[Counted, str] | None:
    """Bytes of target and drafter, and where they are from; None where nothing tells."""
    checkpoints = measured.sessions.loc[measured.sessions["arm"] == arm, "checkpoints"].iloc[0]
    target, drafter = checkpoints.get("target"), checkpoints.get("drafter")
    if not target:
        return None
    if target["weights"] and (not drafter or drafter["weights"]):
        served = measured.plan["arms"][arm]["serve"].get("dtype")
        held = [
            as_served(Weights(**part["weights"]), part["config"], served) if part else None
            for part in (target, drafter)
        ]
        widened = held[0] != Weights(**target["weights"])
        told = f"the headers of the checkpoints' own files{f', held as {served}' * widened}"
        return (held[0], held[1]), told
    weights = _in_memory(measured, arm, target["config"])
    return weights and (weights, "the engine's account of the memory that its weights took")


def _in_memory(measured: Measured, arm: str, config: Mapping) -> Counted | None:
    """The target as the same arm without speculation loaded it; what the arm itself loaded beyond
    that is its MTP head or its drafter."""
    loaded = measured.sessions.groupby("arm")["model_memory"].mean() * 2**30
    spec = measured.plan["arms"][arm]
    plain = arm
    if measured.speculates(arm):
        plain = without_speculation(measured, arm, loaded.index.intersection(measured.arms))
    if plain is None or np.isnan(loaded[[arm, plain]]).any():
        return None
    target = weights_in_memory(float(loaded[plain]), config, spec["serve"].get("dtype"))
    beyond = round(max(0.0, float(loaded[arm] - loaded[plain])))
    if target is None or not beyond:
        return target and (target, None)
    if spec["speculation"]["method"] == "mtp":
        return replace(target, mtp=beyond), None
    return target, Weights(body=beyond, head=0, experts=0, embedding_row=0, mtp=0)


def _step(spec: Mapping, weights: Counted, config: Mapping, streams: int, context: int) -> float:
    """Bytes that one step of `streams` requests reads, drafting included."""
    target, own = weights
    speculation = spec["speculation"]
    drafts = drafts_at(streams, speculation.get("draft_tokens"), speculation.get("schedule"))
    bytes_per_pass = target.mtp + target.head if speculation["method"] == "mtp" else 0
    if own:
        bytes_per_pass = own.body + (own.head or target.head)
    one_pass = speculation["method"] in _ONE_PASS
    drafting = Drafting(bytes_per_pass, min(1, drafts) if one_pass else drafts)
    element = spec["serve"].get("kv_cache_dtype") or spec["serve"].get("dtype")
    return step_bytes(
        target,
        config,
        sequences=streams,
        context_tokens=context,
        kv_element_bytes=_ELEMENT.get(element, 2),
        draft_tokens=drafts,
        drafting=drafting,
    )


def _slots(start: pd.Series) -> int:
    slots = start["request_slots"]
    return int(slots) if slots and not np.isnan(slots) else np.iinfo(np.int32).max
