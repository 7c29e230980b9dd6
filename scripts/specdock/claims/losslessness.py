"""Whether speculation changed the answers, graded against two runs without speculation.

Greedy outputs differ between any two runs when batches are put together differently, so equality is
not the test: an arm is as faithful as plain decoding when it agrees with a plain run as often as
another plain run does. Compare run k of the arm with plain run k + 1, and plain run k with plain
run k + 1 (the last with the first), so that both sides face a different start.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specdock.claims.accuracy import share, share_difference
from specdock.claims.intervals import Estimate
from specdock.claims.verdicts import Verdict, verdicts

Output = Sequence[int] | str


class Divergence(NamedTuple):
    """`index`: tokens or characters before the first difference (the length if there is none);
    `identical`: neither content nor length differs."""

    index: NDArray[np.int64]
    identical: NDArray[np.bool_]


class Grade(NamedTuple):
    """Share of identical outputs of the arm and of the control, their difference, and its verdict:
    equivalent, better or worse than plain decoding repeats itself, or undecided."""

    identical: Estimate
    control: Estimate
    difference: Estimate
    verdict: Verdict


def first_divergence(outputs_a: Sequence[Output], outputs_b: Sequence[Output]) -> Divergence:
    """Compare outputs pairwise, as token ids, or as text where an engine gives no ids."""
    pairs = list(zip(outputs_a, outputs_b, strict=True))
    index = np.array([_first_difference(a, b) for a, b in pairs], dtype=np.int64)
    lengths = np.array([(len(a), len(b)) for a, b in pairs]).reshape(-1, 2)
    return Divergence(index, (index == lengths[:, 0]) & (index == lengths[:, 1]))


def grade(identical: ArrayLike, control: ArrayLike, band: float) -> Grade:
    """Arm against plain, and plain against plain; [runs, prompts] of 0 and 1, the same prompts.

    `band` is the absolute difference in shares that counts as none.
    """
    difference = share_difference(identical, control)
    verdict = Verdict(str(verdicts(difference, band, higher_is_better=True)))
    return Grade(share(identical), share(control), difference, verdict)


def _first_difference(a: Output, b: Output) -> int:
    if isinstance(a, str):
        if a == b:
            return len(a)
        a, b = (np.frombuffer(text.encode("utf-32-le"), np.uint32) for text in (a, b))
    shortest = min(len(a), len(b))
    differs = np.asarray(a[:shortest]) != np.asarray(b[:shortest])
    return int(differs.argmax()) if differs.any() else shortest
