"""What the target was asked in training comes near no prompt of any scenario."""

import json
import lzma
from pathlib import Path

import pytest
from drafters.overlap import Index, runs
from drafters.prompts import Prompt, take
from scenarios import scenario_prompts

from tests.train.conftest import ROOT

PATTERNS = ROOT / "train/patterns.yaml"


def asked(name: str) -> list[str]:
    lines = lzma.decompress((ROOT / f"train/prompts/{name}.jsonl.xz").read_bytes())
    return [json.loads(line)["text"] for line in lines.decode().splitlines()]


@pytest.fixture(scope="module")
def scenarios() -> list[tuple[str, str]]:
    """The prompts of all data sets that come with a package or this repository."""
    return list(scenario_prompts(ROOT))


@pytest.mark.parametrize("name", ["train", "held-out"])
def test_no_prompt_of_a_scenario_was_asked(scenarios, name):
    texts = asked(name)
    assert {kind for kind, _ in scenarios} >= {"essays", "humaneval", "gsm8k-sample100", "mt-bench"}
    assert not {text for _, text in scenarios} & set(texts)
    index = Index(text for _, text in scenarios)
    near = [text for text in texts if index.touches(text)]
    assert not near, f"{len(near)} of {len(texts)}: {near[:3]}"


def test_nothing_that_is_measured_on_was_trained_on():
    index = Index(asked("held-out"))
    assert not [text for text in asked("train") if index.touches(text)]


@pytest.mark.parametrize(
    "changed",
    [
        "Ada has 7 red apples and buys 30 more at the market on Monday.",
        "Solve this. ADA HAS 3 RED APPLES, and buys 12 more at the market!",
    ],
)
def test_other_numbers_or_other_framing_hide_no_near_duplicate(changed):
    index = Index(["Ada has 3 red apples and buys 12 more at the market on Monday."])
    assert index.touches(changed)


def test_a_common_phrase_is_no_near_duplicate():
    index = Index(["Write a Python function that returns the sum of a list of numbers."])
    assert not index.touches("Write a Python function that returns the longest word of a text.")


def test_a_short_text_is_near_itself_alone():
    assert runs("Why is that?") == {("why", "is", "that")}


def test_a_seed_gives_the_same_prompts_and_another_seed_others():
    first = take(PATTERNS, ["math", "prose"], 20, seed=1)
    assert first == take(PATTERNS, ["math", "prose"], 20, seed=1)
    assert first != take(PATTERNS, ["math", "prose"], 20, seed=2)
    assert [prompt.kind for prompt in first] == ["math"] * 20 + ["prose"] * 20


def test_slots_are_filled_with_different_entries_and_an_open_end_is_told(tmp_path: Path):
    source = tmp_path / "patterns.yaml"
    source.write_text("kinds: {k: ['{a} and {a:2} and {a}…']}\nslots: {a: [x, y]}\n")
    (prompt,) = take(source, ["k"], 1, seed=0)
    assert prompt in [
        Prompt("k", "x and y and x", open=True),
        Prompt("k", "y and x and y", open=True),
    ]
