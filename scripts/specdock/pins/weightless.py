"""A checkpoint of a config.json alone, for an engine that fills in dummy weights itself."""

import json
import shutil
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from specdock.errors import SpecdockError

_NEEDED = ("vocab_size", "eos_token_id", "pad_token_id", "max_position_embeddings")
_PLAIN_CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def weightless(files: list[Path], out: Path) -> list[Path]:
    """Copies the config and gives it a tokenizer of one token a byte, filled up to its vocabulary.

    Returns the files written into `out`; the same bytes each time. Raises `SpecdockError` unless
    the only file is a config.json that states its vocabulary, length, end and padding.
    """
    if [file.name for file in files] != ["config.json"]:
        names = ", ".join(file.name for file in files)
        raise SpecdockError(f"weightless takes one file, config.json\n  found    {names}")
    config = json.loads(files[0].read_text(encoding="utf-8"))
    missing = {*_NEEDED} - config.keys()
    if missing:
        raise SpecdockError(f"{files[0]}: {', '.join(sorted(missing))}\n  found    nothing")
    names = sorted(ByteLevel.alphabet())
    names += [f"<{index}>" for index in range(len(names), config["vocab_size"])]
    tokenizer = Tokenizer(BPE(vocab={name: i for i, name in enumerate(names)}, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.save(str(out / "tokenizer.json"))
    shutil.copyfile(files[0], out / "config.json")
    ends = {key: config[key] for key in ("eos_token_id", "pad_token_id")}
    texts = {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": config["max_position_embeddings"],
            "eos_token": names[ends["eos_token_id"]],
            "pad_token": names[ends["pad_token_id"]],
            "chat_template": _PLAIN_CHAT,
        },
        "generation_config.json": ends,
    }
    for name, content in texts.items():
        (out / name).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", "utf-8")
    return [out / name for name in ("config.json", "tokenizer.json", *texts)]
