"""Grades an answer that ends in a number, as GSM8K asks for: right if the numbers are equal.

GSM8K (Cobbe et al. 2021, arXiv:2110.14168) marks the final answer with `####`. A model that was not
shown the marker is taken by its last number.
"""

import re
from decimal import Decimal

from specdock.errors import SpecdockError
from specdock.grades.verdict import Verdict

# 10-5 ends in 5, not in -5; a number is not part of a word or of another number.
_NUMBER = r"""
    (?P<number>
        (?<!\w)(?<![0-9]\.)
        (?P<sign>(?<![\w)])-[$€£¥]?|[$€£¥]-?)?
        (?P<top>
            [0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?
            | [0-9]+(?:\.[0-9]+)?
            | (?<!\.)\.[0-9]+
        )
        (?:/(?P<bottom>[1-9][0-9]*))?
    )
"""
_ANYWHERE = re.compile(_NUMBER, re.VERBOSE)
# Alone on its line: `#### 1. First` is a heading.
_MARKED = re.compile(rf"\#\#\#\#[ \t*]*{_NUMBER}[^\w\n]*$", re.VERBOSE | re.MULTILINE)

MARKER, LAST, NONE = "marker", "last-number", "no-number"


def exact_match(text: str, gold: str) -> Verdict:
    """Compares the number that `text` gives with that of `gold`, in either form of GSM8K.

    The outcome is the rule that found the number: `marker`, `last-number` or `no-number`. Raises
    `SpecdockError` if the gold answer holds no number.
    """
    right = find_number(gold)
    if right is None:
        raise SpecdockError(f"the gold answer {gold!r} holds no number, so nothing can equal it")
    found = find_number(text)
    if found is None:
        return Verdict(False, NONE)
    value, shown, rule = found
    return Verdict(value == right[0], rule, shown)


def find_number(text: str) -> tuple[Decimal, str, str] | None:
    """The number that an answer gives, as it is written, and the rule that found it."""
    plain = _plain(text)
    for rule, pattern in ((MARKER, _MARKED), (LAST, _ANYWHERE)):
        matches = list(pattern.finditer(plain))
        if matches:
            return _value(matches[-1]), matches[-1]["number"], rule
    return None


def _plain(text: str) -> str:
    """The text with minus signs, fractions and separators of LaTeX in their plain form."""
    text = text.replace("\N{MINUS SIGN}", "-")
    text = re.sub(r"\\[dt]?frac\{([0-9]+)\}\{([0-9]+)\}", r"\1/\2", text)
    return re.sub(r"\{,\}|,\\!|\\,", ",", text)


def _value(match: re.Match) -> Decimal:
    value = Decimal(match["top"].replace(",", ""))
    if match["bottom"]:
        value /= Decimal(match["bottom"])
    return -value if "-" in (match["sign"] or "") else value
