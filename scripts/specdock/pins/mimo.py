"""Writes a Llama target and a trained MTP layer as one checkpoint of MiMo's layout.

vLLM serves multi-token prediction of a dense model in that layout: a Qwen2 body whose biases are
zero, an output head of its own, and the layer. The function of the target does not change.
"""

import json
import shutil
from pathlib import Path

import ml_dtypes  # noqa: F401  gives numpy the type bfloat16
import numpy as np
from safetensors.numpy import load_file, save_file

from specdock.errors import SpecdockError

_BIASED = ("q_proj", "k_proj", "v_proj")
_NOT_QWEN2 = ("attention_bias", "mlp_bias", "pretraining_tp")


def derive_mimo(target: Path, mtp: Path, out: Path) -> list[Path]:
    """Writes the checkpoint into the folder `out` and returns its files.

    `target` is a folder with a LlamaForCausalLM in one model.safetensors, `mtp` a file with the
    layer `model.mtp_layers.0`. Same bytes in, same bytes out. Raises `SpecdockError` if the target
    is of another layout or the layer of another width.
    """
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    if config["architectures"] != ["LlamaForCausalLM"]:
        raise SpecdockError(
            f"{target / 'config.json'}: architectures\n"
            f"  found    {config['architectures']}\n"
            "  allowed  LlamaForCausalLM: only its weights are known to mean the same as Qwen2's"
        )
    weights = load_file(target / "model.safetensors")
    layer = load_file(mtp)
    width = layer["model.mtp_layers.0.final_layernorm.weight"].shape[0]
    if width != config["hidden_size"]:
        raise SpecdockError(
            f"{mtp}: model.mtp_layers.0 was trained for another target\n"
            f"  found    width {width}\n"
            f"  allowed  {config['hidden_size']}, the hidden_size of {target / 'config.json'}"
        )
    biases = {
        f"{name.removesuffix('weight')}bias": np.zeros(weight.shape[0], weight.dtype)
        for name, weight in weights.items()
        if name.split(".")[-2] in _BIASED
    }
    head = {"lm_head.weight": weights["model.embed_tokens.weight"]}
    config = {key: value for key, value in config.items() if key not in _NOT_QWEN2} | {
        "architectures": ["MiMoForCausalLM"],
        "model_type": "qwen2",
        "num_nextn_predict_layers": 1,
        "tie_word_embeddings": False,
        "use_sliding_window": False,
    }
    out.mkdir(parents=True, exist_ok=True)
    save_file(head | weights | biases | layer, out / "model.safetensors", metadata={"format": "pt"})
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (out / "config.json").write_text(text, encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copyfile(target / name, out / name)
    return sorted(out.iterdir())
