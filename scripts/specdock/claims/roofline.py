"""The physical limit: bytes that a decode step must read, and the token rate that the bus allows.

Decoding reads every weight once per step, whatever the number of tokens in it, so
rate <= bandwidth / bytes per step * tokens per step (the memory side of Williams, Waterman &
Patterson 2009, applied to decoding as in Pope et al. 2023, section 2). Bytes come from the
checkpoint's own safetensors headers, so packed and scaled formats need no table of widths. The
compute roof is left out: at large batches it may bind first, and the share reached is then lower.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from specdock.claims.intervals import StatisticsError
from specdock.runs.checkpoint import Weights, text_config

_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Drafting:
    """What drafting adds to a step: bytes read per pass (with the target's head if borrowed)."""

    bytes_per_pass: float
    passes: int


def kv_bytes(config: Mapping, context_tokens: int, element_bytes: float) -> float:
    """KV read per step and sequence: keys and values of each attention layer within its window."""
    text = text_config(config)
    layers = text.get("layer_types") or ["full_attention"] * text["num_hidden_layers"]
    heads = text.get("num_key_value_heads", text["num_attention_heads"])
    size = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
    window = text.get("sliding_window") or context_tokens
    tokens = {
        "full_attention": context_tokens,
        "sliding_attention": min(context_tokens, window),
        "linear_attention": 0,
    }
    unknown = sorted(set(layers) - set(tokens))
    if unknown:
        raise StatisticsError(
            f"config.json: layer_types has {', '.join(unknown)}, known are {', '.join(tokens)}"
        )
    return 2 * heads * size * element_bytes * sum(tokens[layer] for layer in layers)


def state_bytes(config: Mapping) -> int:
    """Recurrent state of the linear-attention layers, read and written per step and sequence."""
    text = text_config(config)
    layers = (text.get("layer_types") or []).count("linear_attention")
    if not layers:
        return 0
    state = (
        text["linear_num_value_heads"]
        * text["linear_key_head_dim"]
        * text["linear_value_head_dim"]
        * _STATE_BYTES[text.get("mamba_ssm_dtype", "float32")]
    )
    return 2 * layers * state


def step_bytes(
    target: Weights,
    config: Mapping,
    *,
    sequences: int = 1,
    context_tokens: int = 0,
    kv_element_bytes: float = 2,
    draft_tokens: int = 0,
    drafting: Drafting | None = None,
) -> float:
    """Bytes read by one decode step of `sequences` requests, each with `context_tokens` behind it.

    Experts are reached as if chosen evenly: 1 - (1 - k / E) ** tokens of their bytes.
    """
    tokens = sequences * (1 + draft_tokens)
    text = text_config(config)
    experts = 0.0
    if target.experts:
        total = text.get("num_experts") or text.get("num_local_experts") or text["n_routed_experts"]
        experts = target.experts * (1 - (1 - text["num_experts_per_tok"] / total) ** tokens)
    per_sequence = kv_bytes(config, context_tokens, kv_element_bytes) + state_bytes(config)
    drafted = drafting.bytes_per_pass * drafting.passes if drafting else 0.0
    read_once = target.body + target.head + experts
    return read_once + drafted + tokens * target.embedding_row + sequences * per_sequence


def roofline(
    bytes_per_step: float, bandwidth: float, tokens_per_step: float = 1.0, sequences: int = 1
) -> float:
    """Most tokens per second; bandwidth in bytes per second, tokens per step and sequence."""
    return bandwidth / bytes_per_step * tokens_per_step * sequences
