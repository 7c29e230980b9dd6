"""Identical outputs, graded against two runs without speculation."""

import numpy as np
import pytest

from specdock.claims.losslessness import first_divergence, grade
from specdock.claims.verdicts import Verdict


@pytest.mark.parametrize(
    ("a", "b", "index", "identical"),
    [
        ([1, 2, 3], [1, 2, 3], 3, True),
        ([1, 2, 3], [1, 9, 3], 1, False),
        ([1, 2, 3], [1, 2], 2, False),
        ([1, 2], [1, 2, 3], 2, False),
        ([9], [1], 0, False),
        ([], [], 0, True),
        ([], [1], 0, False),
    ],
)
def test_the_first_difference_is_found(a, b, index, identical):
    found = first_divergence([a, [5, 6, 7, 8]], [b, [5, 6, 7, 8]])

    assert (found.index[0], found.identical[0]) == (index, identical)
    assert (found.index[1], found.identical[1]) == (4, True)


def test_it_equals_a_plain_loop_on_random_outputs():
    rng = np.random.default_rng(0)
    pairs = [
        [rng.integers(0, 2, rng.integers(0, 12)).tolist() for _ in range(200)] for _ in range(2)
    ]

    found = first_divergence(*pairs)

    for a, b, index in zip(*pairs, found.index, strict=True):
        common = 0
        while common < min(len(a), len(b)) and a[common] == b[common]:
            common += 1
        assert index == common
    np.testing.assert_array_equal(found.identical, [a == b for a, b in zip(*pairs, strict=True)])


def same(rng, share: float) -> np.ndarray:
    return (rng.random((3, 400)) < share).astype(float)


def test_an_arm_as_repeatable_as_plain_decoding_is_equivalent():
    rng = np.random.default_rng(1)

    found = grade(same(rng, 0.9), same(rng, 0.9), band=0.08)

    assert found.verdict is Verdict.EQUIVALENT
    assert 0.85 < found.identical.value < 0.95


def test_an_arm_that_changes_answers_is_worse_than_the_control():
    rng = np.random.default_rng(2)

    found = grade(same(rng, 0.3), same(rng, 0.9), band=0.05)

    assert found.verdict is Verdict.WORSE and found.difference.high < -0.5


def test_one_run_leaves_the_grade_undecided():
    found = grade(np.ones((1, 50)), np.ones((1, 50)), band=0.05)

    assert found.verdict is Verdict.UNDECIDED
