"""The essay prompts: as many as the largest level needs, each its own, each long enough."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ESSAYS = Path(__file__).parents[2] / "config/workloads/essays.yaml"


@pytest.fixture(scope="module")
def essays() -> list[dict[str, str]]:
    return YAML(typ="safe").load(ESSAYS)


def test_there_are_64_prompts_with_consecutive_ids(essays):
    assert [essay["id"] for essay in essays] == [f"essay-{n:02}" for n in range(1, 65)]


def test_every_prompt_has_exactly_the_three_fields(essays):
    assert all(set(essay) == {"id", "category", "prompt"} for essay in essays)


def test_no_two_prompts_share_their_first_eight_words(essays):
    openings = {" ".join(essay["prompt"].lower().split()[:8]) for essay in essays}
    assert len(openings) == len(essays)


def test_every_prompt_asks_for_at_least_600_words(essays):
    """600 words are more than 512 tokens, so the cap is reached without forcing the length."""
    asked = {e["id"]: re.findall(r"(\d[\d,]*)\s+words", e["prompt"]) for e in essays}
    lengths = {name: [int(n.replace(",", "")) for n in found] for name, found in asked.items()}
    assert all(found and min(found) >= 600 for found in lengths.values()), lengths
