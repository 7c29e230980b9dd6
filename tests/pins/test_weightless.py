"""A config alone becomes a folder that an engine serves with dummy weights."""

import json

import pytest
from tokenizers import Tokenizer

from specdock.errors import SpecdockError
from specdock.pins.weightless import weightless

CONFIG = {
    "vocab_size": 400,
    "eos_token_id": 300,
    "pad_token_id": 301,
    "max_position_embeddings": 4096,
}


def config_file(tmp_path, **changes):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({k: v for k, v in (CONFIG | changes).items() if v is not None}))
    return path


def made(path, out):
    out.mkdir()
    return {file.name: file.read_bytes() for file in weightless([path], out)}


def test_the_tokenizer_has_a_token_a_byte_and_fills_the_vocabulary(tmp_path):
    files = made(config_file(tmp_path), tmp_path / "out")
    tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
    text = "Two words, and a naïve third."
    ids = tokenizer.encode(text).ids
    assert len(ids) == len(text.encode())
    assert tokenizer.decode(ids) == text
    assert tokenizer.get_vocab_size() == CONFIG["vocab_size"]
    stated = json.loads(files["tokenizer_config.json"])
    assert tokenizer.token_to_id(stated["eos_token"]) == CONFIG["eos_token_id"]
    assert stated["model_max_length"] == CONFIG["max_position_embeddings"]


def test_the_same_config_gives_the_same_bytes(tmp_path):
    path = config_file(tmp_path)
    assert made(path, tmp_path / "once") == made(path, tmp_path / "twice")


def test_a_config_that_lacks_a_key_is_refused_by_name(tmp_path):
    with pytest.raises(SpecdockError, match=r"config\.json: pad_token_id"):
        made(config_file(tmp_path, pad_token_id=None), tmp_path / "out")


def test_weights_beside_the_config_are_refused(tmp_path):
    with pytest.raises(SpecdockError, match=r"model\.safetensors"):
        weightless([config_file(tmp_path), tmp_path / "model.safetensors"], tmp_path)
