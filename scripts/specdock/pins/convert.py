"""Conversions of a checkpoint into the form that an engine loads, byte for byte repeatable."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
from gguf import GGUFReader, dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

from specdock.errors import SpecdockError
from specdock.pins.weightless import weightless

_CONTROL_TOKEN = 3  # gguf.TokenType.CONTROL
_SUPPORTED = {
    "general.architecture": "llama",
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
}
_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def gguf_to_safetensors(files: list[Path], out: Path) -> list[Path]:
    """A Hugging Face folder in bfloat16 from one quantised GGUF file of the Llama architecture.

    Returns the files written into `out`. Raises `SpecdockError` for another architecture or
    tokenizer.
    """
    if len(files) != 1:
        raise SpecdockError(f"gguf-to-safetensors takes one file, found {len(files)}: {files}")
    reader = GGUFReader(files[0])
    facts = {name: field.contents() for name, field in reader.fields.items()}
    for key, supported in _SUPPORTED.items():
        if facts.get(key) != supported:
            raise SpecdockError(
                f"{files[0].name}: {key}\n  found    {facts.get(key)}\n  allowed  {supported}\n"
                "  this conversion knows no other; pin a checkpoint in safetensors form instead"
            )
    weights = _weights(reader, facts)
    # The format key is what transformers demands before it opens a safetensors file.
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(facts).save(str(out / "tokenizer.json"))
    texts = {
        "config.json": _config(facts, tied="lm_head.weight" not in weights),
        "tokenizer_config.json": _tokenizer_config(facts),
        "generation_config.json": _token_ids(facts),
    }
    for name, content in texts.items():
        (out / name).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", "utf-8")
    return [out / name for name in ("model.safetensors", "tokenizer.json", *texts)]


RECIPES: dict[str, Callable[[list[Path], Path], list[Path]]] = {
    "gguf-to-safetensors": gguf_to_safetensors,
    "weightless": weightless,
}


def _weights(reader: GGUFReader, facts: dict) -> dict[str, np.ndarray]:
    heads = {
        "attn_q": facts["llama.attention.head_count"],
        "attn_k": facts["llama.attention.head_count_kv"],
    }
    weights = {}
    for tensor in reader.tensors:
        layer, name = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.weight", tensor.name).groups()
        values = dequantize(tensor.data, tensor.tensor_type)
        if name in heads:
            values = _pairs_to_halves(values, heads[name])
        path = _TENSORS[name] if layer is None else f"model.layers.{layer}.{_LAYER_TENSORS[name]}"
        weights[f"{path}.weight"] = np.ascontiguousarray(values.astype(ml_dtypes.bfloat16))
    return weights


def _pairs_to_halves(values: np.ndarray, heads: int) -> np.ndarray:
    """Rotary rows of each head from llama.cpp's interleaved pairs to Hugging Face's two halves.

    The inverse of `LlamaModel.permute` in llama.cpp's convert_hf_to_gguf.py.
    """
    rows, columns = values.shape
    pairs = values.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def _tokenizer(facts: dict) -> Tokenizer:
    tokens, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    tokenizer = Tokenizer(
        BPE(
            vocab={token: index for index, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]],
        )
    )
    tokenizer.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == _CONTROL_TOKEN
        ]
    )
    return tokenizer


def _token_ids(facts: dict) -> dict[str, int]:
    return {
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
        "pad_token_id": facts["tokenizer.ggml.padding_token_id"],
    }


def _tokenizer_config(facts: dict) -> dict:
    tokens = facts["tokenizer.ggml.tokens"]
    names = {key.removesuffix("_id"): tokens[index] for key, index in _token_ids(facts).items()}
    return names | {
        "unk_token": tokens[facts["tokenizer.ggml.unknown_token_id"]],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": facts["llama.context_length"],
        "chat_template": facts["tokenizer.chat_template"],
    }


def _config(facts: dict, tied: bool) -> dict:
    theta = facts["llama.rope.freq_base"]
    return _token_ids(facts) | {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": facts["llama.attention.head_count"],
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": facts["llama.rope.dimension_count"],
        "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": facts["llama.attention.layer_norm_rms_epsilon"],
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "tie_word_embeddings": tied,
        "vocab_size": facts["llama.vocab_size"],
        "attention_bias": False,
        "mlp_bias": False,
    }
