"""What decoding reads of a checkpoint, recorded while its bytes are at hand.

Bytes come from the safetensors headers, so packed and scaled formats need no table of widths.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_EMBEDDINGS = {"embed_tokens", "wte", "word_embeddings", "tok_embeddings"}
_HEADS = {"lm_head"}
_NOT_IN_DECODING = {
    "visual",
    "vision_tower",
    "vision_model",
    "audio_tower",
    "multi_modal_projector",
}


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


def read_checkpoint(folder: Path) -> dict[str, Any] | None:
    """Bytes of the weights by how a step reads them, and config.json; None without the latter.

    The bytes are null where there are no safetensors, as of dummy weights: only a config is served.
    """
    files = sorted(folder.glob("*.safetensors"))
    config_file = folder / "config.json"
    if not config_file.is_file():
        return None
    config = json.loads(config_file.read_text(encoding="utf-8"))
    counted = asdict(weights(map(read_header, files), config)) if files else None
    return {"weights": counted, "config": config}


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
    text = text_config(config)
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))
    if tied and not found["head"]:
        found["head"] = found["embeddings"]
    row = found.pop("embeddings") // text["vocab_size"]
    return Weights(**found, embedding_row=row)


def text_config(config: Mapping) -> Mapping:
    """The language model's part of a config.json."""
    return config.get("text_config", config)


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
