"""Prefill prompts: as long as asked, none the beginning of another."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from specdock.plan.models import DataSet
from specdock.workloads.prompts import WorkloadError
from specdock.workloads.prose import cut_prompts

WORDS = [f"w{number}" for number in range(1000)]
PROSE = DataSet.model_validate(
    {
        "description": "prose",
        "licence": "MIT",
        "source": {"path": "prose.txt"},
        "reader": {"format": "text", "prompt": "{text}\n\nSummarise."},
    }
)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "prose.txt").write_text(" ".join(WORDS))
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="w0"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_each_passage_has_the_wanted_tokens_under_the_template(folder):
    prompts = cut_prompts("prose", PROSE, folder, folder, tokens=100, count=6)
    contents = [prompt.messages[0]["content"] for prompt in prompts]
    assert all(content.endswith("\n\nSummarise.") for content in contents)
    assert [len(content.split()) - 1 for content in contents] == [100] * 6


def test_no_two_passages_begin_alike(folder):
    prompts = cut_prompts("prose", PROSE, folder, folder, tokens=990, count=10)
    assert len({prompt.messages[0]["content"].split()[0] for prompt in prompts}) == 10
    assert len({prompt.prompt_id for prompt in prompts}) == 10


def test_a_text_that_is_too_short_is_refused(folder):
    with pytest.raises(WorkloadError, match="1000 tokens cannot give 11 passages of 990"):
        cut_prompts("prose", PROSE, folder, folder, tokens=990, count=11)


def test_a_target_without_a_tokenizer_is_named(folder, tmp_path):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(WorkloadError, match=r"tokenizer\.json"):
        cut_prompts("prose", PROSE, folder, folder, tokens=10, count=1)
