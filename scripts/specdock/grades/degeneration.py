"""Whether an answer is a repetition loop, which is easy to draft and worth nothing.

Two measures. The share of repeated n-grams, 1 - distinct / all (seq-rep-n of Welleck et al. 2020,
arXiv:1908.04319), finds loops of words; the compression ratio (as Whisper tests its transcripts,
Radford et al. 2022, arXiv:2212.04356) also finds those inside one word. The thresholds leave room
above what we saw of honest text: by 8-grams of words, prose repeats up to 0.13, code up to 0.46;
code compresses up to 7 times. Loops of a small model repeat 0.5 to 0.85.
"""

import re
import zlib
from collections.abc import Hashable, Sequence

_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Words and single punctuation marks: the same units for every tokenizer."""
    return _WORD.findall(text)


def repeated_share(units: Sequence[Hashable], n: int = 8) -> float:
    """Share of the n-grams of words or token ids that occurred before; 0 if there is none."""
    grams = [tuple(units[start : start + n]) for start in range(len(units) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def compression(text: str) -> float:
    """Bytes of the text over its bytes compressed by zlib; 1 if it is empty."""
    raw = text.encode()
    return len(raw) / len(zlib.compress(raw, 9)) if raw else 1.0


def is_loop(share: float, ratio: float, most_share: float = 0.5, most_ratio: float = 10.0) -> bool:
    """Whether the repeated share or the compression ratio is more than an honest text has."""
    return share > most_share or ratio > most_ratio
