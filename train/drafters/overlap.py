"""Whether two sets of prompts share text: near-duplicates are prompts that share a run of words."""

import re
from collections.abc import Iterable

RUN = 8
WORD = re.compile(r"[a-z]+|\d+")


def runs(text: str, length: int = RUN) -> set[tuple[str, ...]]:
    """All runs of `length` words of a text; a shorter text is one run.

    Lower case, without punctuation; every number is the word `0`, so that a problem with other
    numbers stays the same problem.
    """
    words = ["0" if word.isdigit() else word for word in WORD.findall(text.lower())]
    if len(words) < length:
        return {tuple(words)}
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


class Index:
    """The runs of a set of texts, to ask whether another text comes near any of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.runs: set[tuple[str, ...]] = set()
        for text in texts:
            self.runs |= runs(text)

    def touches(self, text: str) -> bool:
        """Whether the text shares a run with the set."""
        return not self.runs.isdisjoint(runs(text))
