"""What the memory bus allows: bytes of a step from what the engine starts recorded, the bandwidth
that they copied, and the share of the limit that was reached."""

import json
import math
from collections.abc import Iterator
from statistics import fmean

from verification.cells import drafts_of
from verification.measured import behind, logs, role, seeds_and_basis, spelled
from verification.statistics import level
from verification.study import Row, Study

WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}
KV_WIDTHS = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "float32": 4}
WHOLE_BLOCK = ("dflash", "dflash2", "dspark")


def limit(study: Study) -> Iterator[Row]:
    """Rows of the table `limit`. A bandwidth that is stated, and not copied, and which arms were
    compared by what they loaded, rest on the table's hash."""
    for row in study.table("claims/limit.parquet"):
        arm, scenario = row["arm"], row["scenario"]
        plan = next(s for s in study.plan["scenarios"] if s["id"] == scenario)
        start = starts_of(study, arm)[0]
        streams = min(plan["streams"], start["request_slots"] or math.inf)
        copied = copies(study, study.plan["arms"][arm]["engine"]["device"])
        bandwidth = max(copied) if copied else row["bandwidth"]
        length = 1.0
        if study.plan["arms"][arm]["speculation"]["method"] != "none":
            length = math.exp(level(logs(study, "al_committed", arm, scenario))["value"])
        size = step(study, arm, start, streams, context(study, scenario))
        most = bandwidth * 1e9 / size * length * streams
        rates = logs(study, "output_rate", arm, scenario)
        reached = level({seed: rate - math.log(most) for seed, rate in rates.items()})
        share = spelled("reached", reached)
        asked = arm in role(study, "reference") and plan["streams"] == 1
        yield {
            "scenario": scenario,
            "arm": arm,
            "step_gigabytes": size / 1e9,
            "bandwidth": bandwidth,
            "read_time": size / bandwidth / 1e6,
            "length": length,
            "limit": most,
            "rate": math.exp(level(rates)["value"]),
            "mark": 0.85 if asked else None,
            "verdict": outcome(share) if asked else None,
            **share,
            **seeds_and_basis(reached),
            **behind(study, [arm], [scenario]),
        }


def outcome(share: Row) -> str:
    """As a gate judges: by the interval, or by the value where there is none."""
    low, high = share["reached_low"], share["reached_high"]
    if low is not None and low < 0.85 * (1 - 1e-9) <= high:
        return "not decidable"
    return "passed" if share["reached"] >= 0.85 * (1 - 1e-9) else "failed"


def starts_of(study: Study, arm: str) -> list[Row]:
    own = [start for start in study.sessions.values() if start["arm"] == arm]
    return sorted(own, key=lambda start: start["started_at"])


def copies(study: Study, device: str) -> list[float]:
    """What the engine starts copied in the memory that this device decodes from, GB/s."""
    place = "host" if device == "cpu" else "gpu"
    found = ((json.loads(s[place]) or {}).get("copy_bandwidth") for s in study.sessions.values())
    return [value for value in found if value]


def context(study: Study, scenario: str) -> int:
    """Mean tokens behind a token that is being written."""
    cells = [c for arm in study.plan["arms"] for c in study.usable[arm, scenario]]
    tokens = ((c["prompt_tokens"] + c["completion_tokens"] / 2) / c["requests"] for c in cells)
    return int(fmean(tokens))


def step(study: Study, arm: str, start: Row, streams: float, tokens: int) -> float:
    """Bytes that a decode step reads: weights once, keys, values and states of each request."""
    spec, recorded = study.plan["arms"][arm], json.loads(start["checkpoints"])
    config = recorded["target"]["config"]
    text = config.get("text_config", config)
    method = spec["speculation"]["method"]
    drafts = drafts_of(spec["speculation"], streams)
    target, drafter = parts(study, arm, recorded, config)
    rows = streams * (1 + drafts)
    size = target["body"] + target["head"] + rows * target["embedding_row"]
    if target["experts"]:
        names = ("num_experts", "num_local_experts", "n_routed_experts")
        every = next(text[name] for name in names if text.get(name))
        size += target["experts"] * (1 - (1 - text["num_experts_per_tok"] / every) ** rows)
    drafted = target["mtp"] + target["head"] if method == "mtp" else 0
    if drafter:
        drafted = drafter["body"] + (drafter["head"] or target["head"])
    size += drafted * (min(1, drafts) if method in WHOLE_BLOCK else drafts)
    kinds = text.get("layer_types") or ["full_attention"] * text["num_hidden_layers"]
    width = spec["serve"].get("kv_cache_dtype") or spec["serve"].get("dtype")
    heads = text.get("num_key_value_heads", text["num_attention_heads"])
    across = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
    seen = {"full_attention": tokens, "linear_attention": 0}
    seen["sliding_attention"] = min(tokens, text.get("sliding_window") or tokens)
    size += streams * 2 * heads * across * KV_WIDTHS.get(width, 2) * sum(map(seen.get, kinds))
    if states := kinds.count("linear_attention"):
        names = ("num_value_heads", "key_head_dim", "value_head_dim")
        state = math.prod(text[f"linear_{name}"] for name in names)
        size += streams * 2 * states * state * WIDTHS[text.get("mamba_ssm_dtype", "float32")]
    return size


def parts(study: Study, arm: str, recorded: Row, config: Row) -> tuple[Row, Row | None]:
    """Bytes of target and drafter: of their files, else of what the engine says it loaded."""
    target, drafter = recorded["target"], recorded.get("drafter")
    served = study.plan["arms"][arm]["serve"].get("dtype")
    if target["weights"] and (not drafter or drafter["weights"]):
        return held_as(served, target), drafter and held_as(served, drafter)
    text, spec = config.get("text_config", config), study.plan["arms"][arm]
    asked = spec["serve"].get("dtype")
    width = WIDTHS[asked if asked in WIDTHS else text.get("dtype") or text["torch_dtype"]]
    table = text["vocab_size"] * text["hidden_size"] * width
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))
    base = plain_of(study, arm)
    loaded, beyond = (memory(study, name) for name in (base, arm))
    mine: Row = {"body": round(loaded) - table * (1 if tied else 2), "head": table, "experts": 0}
    mine |= {"embedding_row": text["hidden_size"] * width, "mtp": 0}
    more = round(max(0.0, beyond - loaded))
    if spec["speculation"]["method"] == "mtp":
        return mine | {"mtp": more}, None
    return mine, {"body": more, "head": 0} if more else None


def held_as(served: str | None, checkpoint: Row) -> Row:
    """Bytes of a checkpoint in memory, where the engine changes the type of its elements."""
    config = checkpoint["config"]
    text = config.get("text_config", config)
    stored = WIDTHS.get(text.get("dtype") or text.get("torch_dtype"))
    if served not in WIDTHS or stored is None or "quantization_config" in config:
        return checkpoint["weights"]
    return {part: size * WIDTHS[served] // stored for part, size in checkpoint["weights"].items()}


def plain_of(study: Study, arm: str) -> str:
    """The arm that lacks this one's speculation; the table `capacity` names it."""
    rows = study.table("claims/capacity.parquet")
    return next(row["against"] or arm for row in rows if row["arm"] == arm)


def memory(study: Study, arm: str) -> float:
    return fmean(start["model_memory"] for start in starts_of(study, arm)) * 2**30
