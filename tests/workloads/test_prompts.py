"""Prompts of a cell: the same for every arm and seed, in the order of the seed, none repeated."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from specdock.plan.load import load_data_sets
from specdock.plan.models import DataSet
from specdock.workloads.prompts import Prompt, WorkloadError, read_prompts, select

ROOT = Path(__file__).parents[2]


def data_set(**reader: object) -> DataSet:
    return DataSet.model_validate(
        {
            "description": "rows",
            "licence": "MIT",
            "source": {"path": "rows.jsonl"},
            "reader": {"format": "jsonl"} | reader,
        }
    )


def written(tmp_path: Path, rows: list[dict]) -> Path:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_a_template_is_filled_from_the_row(tmp_path):
    folder = written(tmp_path, [{"q": "Why?", "a": 42, "k": "x", "n": 7}])
    reader = data_set(id="n", prompt="Say: {q}", answer="a", category="k", extra=["q"])
    (prompt,) = read_prompts("rows", reader, folder)
    assert prompt == Prompt(
        "7", [{"role": "user", "content": "Say: Why?"}], "42", "x", {"q": "Why?"}
    )


@pytest.mark.parametrize("reader", [{"prompt": "{none}"}, {"answer": "none"}, {"id": "none"}])
def test_a_field_that_rows_lack_is_named_with_the_fields_there_are(tmp_path, reader):
    folder = written(tmp_path, [{"prompt": "Why?"}])
    with pytest.raises(WorkloadError, match=r"(?s)rows\.reader.*none.*prompt"):
        read_prompts("rows", data_set(**reader), folder)


def test_ids_that_repeat_are_refused(tmp_path):
    folder = written(tmp_path, [{"prompt": "a", "n": 1}, {"prompt": "b", "n": 1}])
    with pytest.raises(WorkloadError, match="not unique"):
        read_prompts("rows", data_set(id="n"), folder)


def test_rows_that_are_not_to_be_kept_are_left_out_before_the_first_are_taken(tmp_path):
    talks = [["gpt"], [], ["human", "gpt"], ["human"], ["human", "gpt"], ["human", "gpt"]]
    rows = [
        {"n": n, "talk": [{"from": name, "value": f"says {name}"} for name in talk]}
        for n, talk in enumerate(talks)
    ]
    reader = data_set(
        id="n",
        prompt="{talk[0][value]}",
        keep={"talk[0][from]": "human", "talk[1][from]": "gpt"},
        take={"first": 2},
    )
    prompts = read_prompts("rows", reader, written(tmp_path, rows))
    assert [prompt.prompt_id for prompt in prompts] == ["2", "4"]
    assert prompts[0].messages == [{"role": "user", "content": "says human"}]


def test_a_reader_that_keeps_nothing_is_refused(tmp_path):
    folder = written(tmp_path, [{"prompt": "Why?", "split": "test"}])
    with pytest.raises(WorkloadError, match="no row to keep"):
        read_prompts("rows", data_set(keep={"split": "train"}), folder)


def test_a_line_separator_inside_a_text_does_not_end_a_row(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a\u2028b"}\n', encoding="utf-8")
    assert len(read_prompts("rows", data_set(), tmp_path)) == 1


@pytest.mark.parametrize("pattern", ["main/test-*.parquet", "*.parquet", "main/test-0.parquet"])
def test_files_of_a_repository_are_found_by_their_patterns(tmp_path, pattern):
    (tmp_path / "main").mkdir()
    pq.write_table(pa.table({"question": ["Why?"]}), tmp_path / "main/test-0.parquet")
    (tmp_path / "main/README.md").write_text("not a row")
    source = {"repository": "some/rows", "revision": "a" * 40, "files": [pattern]}
    reader = {"format": "parquet", "prompt": "{question}"}
    content = {"description": "rows", "licence": "MIT", "source": source, "reader": reader}
    (prompt,) = read_prompts("rows", DataSet.model_validate(content), tmp_path)
    assert prompt.messages[0]["content"] == "Why?"


PROMPTS = [Prompt(f"p{i}", []) for i in range(10)]


def test_every_seed_measures_the_same_prompts_in_another_order():
    one, two = (select(PROMPTS, seed, 6, 2) for seed in (1, 2))
    assert one[:6] != two[:6]
    assert {p.prompt_id for p in one[:6]} == {p.prompt_id for p in two[:6]}
    assert one == select(PROMPTS, 1, 6, 2)


def test_warm_ups_never_use_a_measured_prompt():
    chosen = select(PROMPTS, 3, 6, 4)
    assert len({prompt.prompt_id for prompt in chosen}) == 10


def test_too_few_prompts_are_refused():
    with pytest.raises(WorkloadError, match="10 prompts cannot give 8 requests and 3 warm-ups"):
        select(PROMPTS, 1, 8, 3)


def test_the_embedded_essays_are_readable():
    essays = load_data_sets(ROOT)["essays"]
    prompts = read_prompts("essays", essays, ROOT / "config/workloads")
    assert len(prompts) == 64
    assert len({prompt.category for prompt in prompts}) > 5
