"""SPEED-Bench from a folder of the user's own: read where it is, missing with one clear message."""

import json
from pathlib import Path

import pytest

from specdock.pins.fetch import make_lock
from specdock.pins.lock import PinError
from specdock.plan.load import load_data_sets
from specdock.workloads.prompts import read_prompts

DATA_SETS = load_data_sets(Path(__file__).parents[2])
LENGTHS = ["1k", "2k", "8k", "16k", "32k"]


@pytest.mark.parametrize("length", LENGTHS)
def test_prompts_of_a_length_come_from_that_lengths_file(tmp_path, monkeypatch, length):
    for other in LENGTHS:
        turns = [{"role": "user", "content": f"A prompt of {other}."}]
        rows = [
            {"question_id": f"{other}-{n}", "category": "mixed", "messages": turns}
            for n in range(2)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"throughput_{other}.jsonl").write_text(text)
    monkeypatch.setenv("SPEED_BENCH_DIR", str(tmp_path))
    name = f"speed-bench-{length}"
    [file] = make_lock(name, DATA_SETS[name], tmp_path).files
    assert file.path == f"throughput_{length}.jsonl"
    prompts = read_prompts(name, DATA_SETS[name], tmp_path)
    assert [p.prompt_id for p in prompts] == [f"{length}-0", f"{length}-1"]
    assert prompts[0].messages == [{"role": "user", "content": f"A prompt of {length}."}]


def test_without_the_folder_one_message_names_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv("SPEED_BENCH_DIR", raising=False)
    with pytest.raises(PinError, match="SPEED_BENCH_DIR"):
        make_lock("speed-bench-1k", DATA_SETS["speed-bench-1k"], tmp_path)
