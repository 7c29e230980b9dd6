"""Conversion of a GGUF file: the same weights and tokens, the same bytes every time."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import dequantize, quantize
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from specdock.errors import SpecdockError
from specdock.pins.convert import gguf_to_safetensors
from specdock.pins.fetch import ensure_fetched, make_lock, make_receipt, pin_of
from specdock.pins.lock import PinError
from specdock.plan.fingerprint import sha256_of
from specdock.plan.models import Checkpoint

HIDDEN, HEADS, KV_HEADS, FEED_FORWARD = 64, 4, 2, 96
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENS = [*SPECIAL, *sorted(ByteLevel.alphabet()), "ĠĠ"]
ROWS = {
    "attn_q": HIDDEN,
    "attn_k": HIDDEN // HEADS * KV_HEADS,
    "attn_v": HIDDEN // HEADS * KV_HEADS,
    "attn_output": HIDDEN,
    "ffn_gate": FEED_FORWARD,
    "ffn_up": FEED_FORWARD,
}


def weights() -> dict[str, np.ndarray]:
    """Weights of one layer as Hugging Face orders them, under the names of GGUF."""
    random = np.random.default_rng(1)
    shapes = {f"blk.0.{name}": (rows, HIDDEN) for name, rows in ROWS.items()}
    shapes |= {"blk.0.ffn_down": (HIDDEN, FEED_FORWARD), "token_embd": (len(TOKENS), HIDDEN)}
    shapes |= {name: (HIDDEN,) for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")}
    return {name: random.normal(size=s).astype(np.float32) for name, s in shapes.items()}


def interleaved(values: np.ndarray, heads: int) -> np.ndarray:
    """What llama.cpp does to the rows of queries and keys when it writes a GGUF file."""
    half = values.shape[0] // heads // 2
    rows = [
        h * 2 * half + i + half * part for h in range(heads) for i in range(half) for part in (0, 1)
    ]
    return values[rows]


def gguf_file(path: Path, architecture: str = "llama", pre: str = "smollm") -> Path:
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(1e5)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    kinds = [TokenType.CONTROL] * len(SPECIAL) + [TokenType.NORMAL] * (len(TOKENS) - len(SPECIAL))
    writer.add_token_types(kinds)
    writer.add_token_merges(["Ġ Ġ"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template("{{ messages }}")
    for name, values in weights().items():
        if name.endswith("attn_q"):
            values = interleaved(values, HEADS)
        if name.endswith("attn_k"):
            values = interleaved(values, KV_HEADS)
        kind = GGMLQuantizationType.F32 if values.ndim == 1 else GGMLQuantizationType.Q8_0
        writer.add_tensor(f"{name}.weight", quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def converted(tmp_path) -> Path:
    out = tmp_path / "out"
    out.mkdir()
    files = gguf_to_safetensors([gguf_file(tmp_path / "tiny.gguf")], out)
    assert sorted(files) == sorted(out.iterdir())
    return out


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("mlp.down_proj", "ffn_down"),
        ("input_layernorm", "attn_norm"),
    ],
)
def test_weights_are_those_of_hugging_face_rounded_once(converted, ours, theirs):
    values = weights()[f"blk.0.{theirs}"]
    if values.ndim == 2:
        kind = GGMLQuantizationType.Q8_0
        values = dequantize(quantize(values, kind), kind)
    found = load_file(converted / "model.safetensors")[f"model.layers.0.{ours}.weight"]
    assert found.dtype == ml_dtypes.bfloat16
    assert np.array_equal(found, values.astype(ml_dtypes.bfloat16))


def test_the_config_states_what_the_file_states(converted):
    config = json.loads((converted / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["num_key_value_heads"] == KV_HEADS
    assert config["tie_word_embeddings"] is True
    assert config["rope_parameters"]["rope_theta"] == 1e5
    assert config["eos_token_id"] == 2


def test_digits_stand_alone_before_spaces_are_merged(converted):
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    assert tokenizer.encode("  12<|im_end|>").tokens == ["ĠĠ", "1", "2", "<|im_end|>"]
    assert tokenizer.decode(tokenizer.encode("é  12").ids) == "é  12"


def test_the_chat_template_goes_with_the_tokenizer(converted):
    config = json.loads((converted / "tokenizer_config.json").read_text())
    assert config["chat_template"] == "{{ messages }}"
    assert (config["bos_token"], config["eos_token"]) == ("<|im_start|>", "<|im_end|>")


def test_two_conversions_give_the_same_bytes(converted, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    gguf_to_safetensors([tmp_path / "tiny.gguf"], again)
    for path in converted.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


@pytest.fixture
def pinned(tmp_path) -> tuple[Checkpoint, Path]:
    """A checkpoint to be converted, locked in a repository, and that repository's root."""
    path = gguf_file(tmp_path / "tiny.gguf")
    entry = Checkpoint.model_validate(
        {
            "description": "tiny",
            "licence": "MIT",
            "source": {"path": ".", "files": {"tiny.gguf": sha256_of(path)}},
            "convert": "gguf-to-safetensors",
        }
    )
    lock = tmp_path / f"results/pins/{pin_of('tiny', entry)}.lock.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(make_lock("tiny", entry, tmp_path).model_dump_json())
    return entry, tmp_path


def test_what_was_made_and_lost_is_made_again_to_the_same_receipt(pinned):
    entry, root = pinned
    receipt = make_receipt("tiny", entry, root)
    folder = ensure_fetched("tiny", entry, root)
    (folder / "tokenizer.json").unlink()
    assert make_receipt("tiny", entry, root) == receipt
    assert sha256_of(folder / "tokenizer.json") == receipt["made"]["tokenizer.json"]


def test_a_flipped_byte_of_what_was_made_is_found(pinned):
    entry, root = pinned
    path = ensure_fetched("tiny", entry, root) / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(PinError, match=r"model\.safetensors: these are not the pinned bytes"):
        ensure_fetched("tiny", entry, root)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"architecture": "qwen2"}, "general.architecture"), ({"pre": "qwen2"}, "tokenizer.ggml.pre")],
)
def test_another_architecture_or_tokenizer_is_refused(tmp_path, wrong, words):
    with pytest.raises(SpecdockError, match=words):
        gguf_to_safetensors([gguf_file(tmp_path / "other.gguf", **wrong)], tmp_path)
