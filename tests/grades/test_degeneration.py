"""Repetition loops of a real model are told from its honest answers."""

import json
from pathlib import Path

import pytest

from specdock.grades.degeneration import compression, is_loop, repeated_share, words

FIXTURES = Path(__file__).parents[1] / "fixtures"
ANSWERS = {
    answer["prompt"]: answer["text"]
    for answer in map(
        json.loads, (FIXTURES / "smollm2-135m-answers.jsonl").read_text("utf-8").splitlines()
    )
}


def looped(text: str) -> bool:
    return is_loop(repeated_share(words(text)), compression(text))


@pytest.mark.parametrize(
    ("prompt", "loop"),
    [
        ("essay 0", True),
        ("code HumanEval/1", True),
        ("gsm8k gsm8k-test-0051", True),
        ("essay 1", False),
        ("code HumanEval/0", False),
        ("gsm8k gsm8k-test-0013", False),
    ],
)
def test_a_loop_of_a_small_model_is_found(prompt, loop):
    assert looped(ANSWERS[prompt]) is loop


def test_code_and_prose_of_this_repository_are_no_loops():
    root = FIXTURES.parents[1]
    files = [*root.glob("scripts/specdock/**/*.py"), *root.glob("*.md")]
    texts = [file.read_text("utf-8") for file in files]
    assert [file for file, text in zip(files, texts, strict=True) if looped(text)] == []


@pytest.mark.parametrize("text", ["no " * 40, "a" * 400, "()" * 200, "and so on, " * 12])
def test_plain_loops_are_found(text):
    assert looped(text)


@pytest.mark.parametrize("text", ["", "4", "I do not know.", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"])
def test_short_answers_are_no_loops(text):
    assert not looped(text)


def test_the_repeated_share_counts_what_came_before():
    # Bigrams: (1,2) (2,1) (1,2) (2,3); one of four repeats.
    assert repeated_share([1, 2, 1, 2, 3], n=2) == 0.25
    assert repeated_share([1, 2], n=3) == 0.0


def test_thresholds_are_parameters():
    assert is_loop(0.3, 1.0, most_share=0.2)
    assert is_loop(0.0, 5.0, most_ratio=4.0)
    assert not is_loop(0.5, 10.0)
