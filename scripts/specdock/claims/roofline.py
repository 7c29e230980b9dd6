"""The physical limit: bytes that a decode step must read, and the token rate that the bus allows.

Decoding reads every weight once per step, whatever the number of tokens in it, so
rate <= bandwidth / bytes per step * tokens per step (the memory side of Williams, Waterman &
Patterson 2009, applied to decoding as in Pope et al. 2023, section 2). Bytes come from the
checkpoint's own safetensors headers, so packed and scaled formats need no table of widths; of dummy
weights, which have none, from the memory that the engine says they took. The compute roof is left
out: at large batches it may bind first, and the share reached is then lower.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from specdock.claims.intervals import StatisticsError
from specdock.runs.checkpoint import Weights, text_config

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


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
        * _BYTES[text.get("mamba_ssm_dtype", "float32")]
    )
    return 2 * layers * state


def weights_in_memory(loaded: float, config: Mapping, dtype: str | None) -> Weights | None:
    """A checkpoint by the bytes that an engine loaded, its embeddings told apart by config.json.

    `dtype` is what the arm asks for; the checkpoint's own otherwise. None for a mixture of experts,
    whose parts the sum does not tell, and for a type of elements that is not known.
    """
    text = text_config(config)
    stated = dtype if dtype in _BYTES else text.get("dtype") or text.get("torch_dtype")
    if stated not in _BYTES or any("experts" in key and text[key] for key in text):
        return None
    row = text["hidden_size"] * _BYTES[stated]
    table = text["vocab_size"] * row
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))
    # One table is the head too, or there are two of which only the head is read whole.
    body = round(loaded) - table * (1 if tied else 2)
    return Weights(body=body, head=table, experts=0, embedding_row=row, mtp=0)


def as_served(weights: Weights, config: Mapping, dtype: str | None) -> Weights:
    """Bytes in memory where the engine holds every element as `dtype`; packed formats stay."""
    text = text_config(config)
    stored = text.get("dtype") or text.get("torch_dtype")
    if dtype not in _BYTES or stored not in _BYTES or "quantization_config" in config:
        return weights
    factor = _BYTES[dtype] / _BYTES[stored]
    return Weights(**{part: round(size * factor) for part, size in asdict(weights).items()})


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
