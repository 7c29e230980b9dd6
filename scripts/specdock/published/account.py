"""Re-finds a ledger in its article and shows that every number of the article is accounted for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from specdock.plan.problems import Problem
from specdock.published.ledger import NUMBER, Figure, Ledger, NotFigures, numbers_equal_to

Span = tuple[int, int]


@dataclass(frozen=True)
class Account:
    """How many numbers an article prints, what they are, and what is wrong with the ledger."""

    numbers: int
    figures: int
    not_figures: int
    problems: list[Problem]


def account_for(ledger: Ledger, text: str) -> Account:
    """Every number of the article's text against the ledger.

    A number counts as a figure only where a figure's own quotation (or one of its `also` lines)
    prints its value; standing in somebody else's quotation is not enough.
    """
    article = ledger.article
    lines = text.split("\n")
    problems = list(_labels_not_found(ledger, lines))
    figures: dict[tuple[int, Span], list[str]] = {}
    for figure in ledger.figures:
        places, faults = _places(figure, lines)
        problems += [Problem(article, figure.id, *fault) for fault in faults]
        for place in places:
            figures.setdefault(place, []).append(figure.id)
    others: dict[int, list[Span]] = {}
    for entry in ledger.not_figures:
        for number, span in _excluded(entry, lines):
            others.setdefault(number, []).append(span)
        problems += [
            Problem(article, f"not_figures: {entry.reason}", text, "a text of the article")
            for text in entry.texts
            if not any(_occurrences(text, line) for line in _chosen(entry, lines).values())
        ]
    counted = {"figures": 0, "not_figures": 0, "numbers": 0}
    for number, line in enumerate(lines, start=1):
        for found in NUMBER.finditer(line):
            start, end = found.span()
            claims = figures.get((number, (start, end)), [])
            excluded = any(low <= start and end <= high for low, high in others.get(number, []))
            counted["numbers"] += 1
            counted["figures"] += bool(claims)
            counted["not_figures"] += excluded and not claims
            if len(claims) + excluded != 1:
                context = line[max(0, start - 30) : end + 30]
                what = "is in no figure and not in not_figures"
                if claims:
                    what = f"is claimed by {', '.join(claims + ['not_figures'] * excluded)}"
                problems.append(
                    Problem(
                        article, f"line {number}", f"{found.group()} {what}", f"...{context}..."
                    )
                )
    return Account(counted["numbers"], counted["figures"], counted["not_figures"], problems)


def _labels_not_found(ledger: Ledger, lines: list[str]) -> Iterator[Problem]:
    for kind, labels in (("arms", ledger.arms), ("scenarios", ledger.scenarios)):
        for slug, label in labels.items():
            if label.words not in _line(lines, label.line):
                where = f"words of line {label.line}"
                yield Problem(ledger.article, f"{kind}.{slug}", label.words, where)
    for table in ledger.tables:
        for words, number in table.words():
            if words not in _line(lines, number):
                where = f"words of line {number}"
                yield Problem(ledger.article, f"tables: {table.caption}", words, where)


def _places(
    figure: Figure, lines: list[str]
) -> tuple[list[tuple[int, Span]], list[tuple[str, str]]]:
    """Where the article prints the figure, and what keeps it from being found."""
    faults, places = [], []
    line = _line(lines, figure.line)
    if line.count(figure.quotation) != 1:
        times = line.count(figure.quotation)
        faults.append((f"'{figure.quotation}' {times} times", f"once on line {figure.line}"))
    elif figure.words is None:
        start = line.index(figure.quotation)
        [found] = numbers_equal_to(figure.value, figure.quotation)
        places.append((figure.line, (start + found.start(), start + found.end())))
    for number in figure.also:
        equal = numbers_equal_to(figure.value, _line(lines, number))
        repeats = [found for found in equal if found.group() == figure.printed]
        if len(repeats) != 1:
            faults.append((f"{figure.printed} {len(repeats)} times on line {number}", "once"))
        places += [(number, found.span()) for found in repeats]
    return places, faults


def _excluded(entry: NotFigures, lines: list[str]) -> Iterator[tuple[int, Span]]:
    for number, line in _chosen(entry, lines).items():
        if not entry.texts:
            yield number, (0, len(line))
        for text in entry.texts:
            for span in _occurrences(text, line):
                yield number, span


def _chosen(entry: NotFigures, lines: list[str]) -> dict[int, str]:
    numbers = entry.lines or range(1, len(lines) + 1)
    return {number: _line(lines, number) for number in numbers}


def _occurrences(text: str, line: str) -> list[Span]:
    """Where a text stands by itself: "8 streams" is not in "48 streams"."""
    left = r"(?<![\w.])" if text[0].isalnum() else ""
    right = r"(?!\w)" if text[-1].isalnum() else ""
    return [found.span() for found in re.finditer(left + re.escape(text) + right, line)]


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if number <= len(lines) else ""
