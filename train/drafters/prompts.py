"""Prompts for training data: patterns of patterns.yaml filled by a seeded generator."""

import random
import string
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import yaml

OPEN = "…"


@dataclass(frozen=True)
class Prompt:
    """One user turn of a kind; an open one is completed by the target before it is answered."""

    kind: str
    text: str
    open: bool = False


class Fill(string.Formatter):
    """Fills `{slot}` and `{slot:k}` from lists; no entry occurs twice within one text."""

    def __init__(self, slots: dict[str, list[str | int]], draw: random.Random) -> None:
        self.slots = slots
        self.draw = draw
        self.used: dict[str, str] = {}

    def get_value(self, key: str | int, args: object, kwargs: object) -> str:
        return str(key)

    def format_field(self, slot: str, draw_number: str) -> str:
        name = f"{slot}:{draw_number}"
        if name not in self.used:
            free = [
                entry for entry in map(str, self.slots[slot]) if entry not in self.used.values()
            ]
            self.used[name] = self.draw.choice(free)
        return self.used[name]


def prompts(source: Path, kind: str, seed: int) -> Iterator[Prompt]:
    """Endless prompts of one kind, without exact repetition of a finished text.

    The same source, kind and seed give the same prompts in the same order.
    """
    book = yaml.safe_load(source.read_text(encoding="utf-8"))
    draw = random.Random(f"{seed}.{kind}")
    seen: set[str] = set()
    while True:
        text = Fill(book["slots"], draw).format(draw.choice(book["kinds"][kind]))
        if text.endswith(OPEN):
            yield Prompt(kind, text.removesuffix(OPEN), open=True)
        elif text not in seen:
            seen.add(text)
            yield Prompt(kind, text)


def take(source: Path, kinds: list[str], each: int, seed: int) -> list[Prompt]:
    """The first `each` prompts of every kind."""
    return [prompt for kind in kinds for prompt in islice(prompts(source, kind, seed), each)]
