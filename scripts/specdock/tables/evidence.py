"""Facts in an engine's log, each with its line, found by the patterns of its config entry."""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Evidence(NamedTuple):
    """A fact and the line of server.log that states it."""

    fact: str
    value: str
    line: int
    text: str


def find_evidence(lines: Iterable[str], patterns: dict[str, str], first: int = 1) -> list[Evidence]:
    """Every distinct statement of every fact; `first` is the number of the first line.

    The value is the pattern's first group, or `yes` for a pattern without one.
    """
    compiled = {fact: re.compile(pattern) for fact, pattern in patterns.items()}
    found: dict[tuple[str, str], Evidence] = {}
    for number, text in enumerate(lines, first):
        for fact, pattern in compiled.items():
            if match := pattern.search(text):
                value = match.group(1) if pattern.groups else "yes"
                found.setdefault((fact, value), Evidence(fact, value, number, text.rstrip()[:400]))
    return sorted(found.values(), key=lambda item: item.line)


def number_of(evidence: list[Evidence], fact: str) -> float | None:
    """The first statement of a fact as a number, thousands separators removed."""
    for item in evidence:
        if item.fact == fact:
            return float(item.value.replace(",", ""))
    return None
