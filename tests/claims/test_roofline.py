"""Bytes per step from real safetensors headers, and the limit that follows."""

import json

import numpy as np
import pytest

from specdock.claims.intervals import StatisticsError
from specdock.claims.roofline import (
    Drafting,
    as_served,
    kv_bytes,
    roofline,
    state_bytes,
    step_bytes,
)
from specdock.runs.checkpoint import Weights, read_header, weights

HYBRID = {
    "vocab_size": 1000,
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "mamba_ssm_dtype": "float32",
    "tie_word_embeddings": False,
}
TENSORS = {
    "model.language_model.embed_tokens.weight": 128_000,
    "model.language_model.layers.0.mlp.down_proj.weight": 5_000,
    "model.language_model.layers.0.mlp.down_proj.weight_scale": 100,
    "model.visual.patch_embed.weight": 7_000,
    "mtp.layers.0.mlp.down_proj.weight": 900,
    "lm_head.weight": 128_000,
}


def write(path, tensors: dict[str, int]) -> None:
    """A safetensors file of byte tensors (format: huggingface/safetensors, README, "Format")."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, size in tensors.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(offset))


def test_tensors_are_sorted_by_how_decoding_reads_them(tmp_path):
    write(tmp_path / "model.safetensors", TENSORS)

    found = weights([read_header(tmp_path / "model.safetensors")], {"text_config": HYBRID})

    assert found == Weights(body=5_100, head=128_000, experts=0, embedding_row=128, mtp=900)


def test_a_tied_embedding_is_read_whole_as_the_output_head(tmp_path):
    tied = {name: size for name, size in TENSORS.items() if name != "lm_head.weight"}
    write(tmp_path / "model.safetensors", tied)
    header = read_header(tmp_path / "model.safetensors")

    assert weights([header], HYBRID | {"tie_word_embeddings": True}).head == 128_000
    assert weights([header], HYBRID).head == 0


def test_shards_add_up(tmp_path):
    names = list(TENSORS)
    write(tmp_path / "a.safetensors", {name: TENSORS[name] for name in names[:3]})
    write(tmp_path / "b.safetensors", {name: TENSORS[name] for name in names[3:]})
    shards = [read_header(tmp_path / f"{shard}.safetensors") for shard in "ab"]

    assert weights(shards, HYBRID).body == 5_100


def test_kv_and_state_follow_the_layer_types():
    assert kv_bytes(HYBRID, 100, 2) == 1 * 2 * 2 * 16 * 2 * 100
    assert state_bytes(HYBRID) == 2 * 3 * 4 * 8 * 8 * 4
    plain = {key: value for key, value in HYBRID.items() if key != "layer_types"}
    assert kv_bytes(plain, 100, 2) == 4 * kv_bytes(HYBRID, 100, 2)
    assert state_bytes(plain) == 0


def test_a_window_bounds_what_a_layer_reads():
    windowed = HYBRID | {"layer_types": ["sliding_attention"] * 4, "sliding_window": 10}

    assert kv_bytes(windowed, 100, 1) == kv_bytes(windowed, 10, 1) == 4 * 2 * 2 * 16 * 10


def test_an_unknown_layer_type_is_named():
    with pytest.raises(StatisticsError, match="layer_types has mamba9"):
        kv_bytes(HYBRID | {"layer_types": ["mamba9"]}, 10, 2)


def test_a_step_reads_weights_once_and_context_per_sequence():
    target = Weights(body=10_000, head=2_000, experts=0, embedding_row=10, mtp=500)

    one = step_bytes(target, HYBRID, sequences=1, context_tokens=50)
    two = step_bytes(target, HYBRID, sequences=2, context_tokens=50)

    assert one == 12_010 + kv_bytes(HYBRID, 50, 2) + state_bytes(HYBRID)
    assert two - one == one - 12_000


def test_drafting_adds_its_passes_and_verification_almost_nothing():
    target = Weights(body=10_000, head=2_000, experts=0, embedding_row=10, mtp=500)
    mtp = Drafting(bytes_per_pass=target.mtp + target.head, passes=3)

    plain = step_bytes(target, HYBRID)
    speculative = step_bytes(target, HYBRID, draft_tokens=3, drafting=mtp)

    assert speculative - plain == 3 * 2_500 + 3 * 10


def test_experts_are_read_as_far_as_tokens_reach_them():
    target = Weights(body=0, head=0, experts=8_000, embedding_row=0, mtp=0)
    config = HYBRID | {"num_experts": 8, "num_experts_per_tok": 2, "layer_types": []}
    rng = np.random.default_rng(0)
    chosen = rng.random((4000, 8, 8)).argsort(-1)[..., :2].reshape(4000, -1)
    reached = np.mean([len(set(row)) for row in chosen]) / 8

    assert step_bytes(target, config | {"num_hidden_layers": 0}) == pytest.approx(2_000)
    found = step_bytes(target, config | {"num_hidden_layers": 0}, draft_tokens=7)
    assert found == pytest.approx(8_000 * reached, rel=0.01)


def test_the_published_card_cannot_read_its_weights_much_more_than_eighty_times_a_second():
    assert roofline(21 * 2**30, 1.8e12) == pytest.approx(80, abs=0.5)
    assert roofline(21 * 2**30, 1.8e12, tokens_per_step=3.31, sequences=8) == pytest.approx(
        8 * 3.31 * roofline(21 * 2**30, 1.8e12)
    )


@pytest.mark.parametrize(
    ("config", "dtype", "factor"),
    [
        ({"dtype": "bfloat16"}, "float32", 2),
        ({"torch_dtype": "float32"}, "bfloat16", 0.5),
        ({"dtype": "bfloat16"}, "float16", 1),
        ({"dtype": "bfloat16"}, None, 1),
        ({"dtype": "bfloat16"}, "auto", 1),
        ({"dtype": "bfloat16", "quantization_config": {}}, "float32", 1),
    ],
)
def test_an_engine_that_widens_its_elements_reads_more(config, dtype, factor):
    stored = Weights(body=100, head=20, experts=8, embedding_row=2, mtp=0)
    held = as_served(stored, config, dtype)
    assert (held.body, held.head, held.experts) == (100 * factor, 20 * factor, 8 * factor)
