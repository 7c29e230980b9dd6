"""Facts for the physical limit that a session records."""

import json
import struct

from specdock.runs.checkpoint import read_checkpoint

CONFIG = {"vocab_size": 10, "tie_word_embeddings": True}


def write_safetensors(file, **sizes):
    header, end = {}, 0
    for name, size in sizes.items():
        header[name.replace("__", ".")] = {
            "dtype": "U8",
            "shape": [size],
            "data_offsets": [end, end + size],
        }
        end += size
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def test_bytes_are_sorted_by_how_a_step_reads_them(tmp_path):
    write_safetensors(tmp_path / "a.safetensors", model__embed_tokens__weight=40)
    write_safetensors(tmp_path / "b.safetensors", model__layers__0__weight=100, mtp__fc__weight=7)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))

    found = read_checkpoint(tmp_path)

    assert found["config"] == CONFIG
    assert found["weights"] == {
        "body": 100,
        "head": 40,
        "experts": 0,
        "embedding_row": 4,
        "mtp": 7,
    }


def test_a_file_of_another_format_has_no_account(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert read_checkpoint(tmp_path) is None


def test_a_checkpoint_of_dummy_weights_is_its_config_alone(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert read_checkpoint(tmp_path) == {"weights": None, "config": CONFIG}
