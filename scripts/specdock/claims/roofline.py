"""The physical limit: bytes that a decode step must read, and the token rate that the bus allows.

Decoding reads every weight once per step, whatever the number of tokens in it, so
rate <= bandwidth / bytes per step * tokens per step (the memory side of Williams, Waterman &
Patterson 2009, applied to decoding as in Pope et al. 2023, section 2). Bytes come from the
checkpoint's own safetensors headers, so packed and scaled formats need no table of widths. The
compute roof is left out: at large batches it may bind first, and the share reached is then lower.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specdock.claims.intervals import StatisticsError

_EMBEDDINGS = {"embed_tokens", "wte", "word_embeddings", "tok_embeddings"}
_HEADS = {"lm_head"}
_NOT_IN_DECODING = {
    "visual",
    "vision_tower",
    "vision_model",
    "audio_tower",
    "multi_modal_projector",
}
_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Weights:
    """Bytes of a checkpoint by how decoding reads them.

    `body` and `head` once per step, `experts` as far as tokens reach them, one `embedding_row` per
    token, and `mtp` once per pass of the MTP head.
    """

    body: int
    head: int
    experts: int
    embedding_row: int
    mtp: int


@dataclass(frozen=True)
class Drafting:
    """What drafting adds to a step: bytes read per pass (with the target's head if borrowed)."""

    bytes_per_pass: float
    passes: int


def read_header(path: Path) -> dict:
    """The JSON header of a safetensors file (8-byte little-endian length, then the header)."""
    with path.open("rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little")))


def weights(headers: Iterable[Mapping], config: Mapping) -> Weights:
    """Sort a checkpoint's tensors; `config` is its config.json."""
    found = dict.fromkeys(("body", "head", "experts", "mtp", "embeddings"), 0)
    for header in headers:
        for name, tensor in header.items():
            kind = _kind(name)
            if kind:
                start, end = tensor["data_offsets"]
                found[kind] += end - start
    text = _text(config)
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))
    if tied and not found["head"]:
        found["head"] = found["embeddings"]
    row = found.pop("embeddings") // text["vocab_size"]
    return Weights(**found, embedding_row=row)


def kv_bytes(config: Mapping, context_tokens: int, element_bytes: float) -> float:
    """KV read per step and sequence: keys and values of each attention layer within its window."""
    text = _text(config)
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
    text = _text(config)
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
    text = _text(config)
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


def _kind(name: str) -> str | None:
    parts = set(name.split("."))
    if name == "__metadata__" or parts & _NOT_IN_DECODING:
        return None
    if any(part == "mtp" or part.startswith("mtp_") for part in parts):
        return "mtp"
    if parts & _EMBEDDINGS:
        return "embeddings"
    if parts & _HEADS:
        return "head"
    return "experts" if "experts" in parts else "body"


def _text(config: Mapping) -> Mapping:
    return config.get("text_config", config)
