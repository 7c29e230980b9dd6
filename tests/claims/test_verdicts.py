"""Verdict words at the edges of the band, and the seeds that would decide."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from specdock.claims.accuracy import share_difference
from specdock.claims.intervals import Scale, around, ratio
from specdock.claims.verdicts import Outlook, Verdict, seeds_to_decide, verdicts


def interval(low: float, high: float, runs: int = 3):
    """An estimate of a ratio with exactly this interval."""
    low, high = np.log(low), np.log(high)
    half, t = (high - low) / 2, stats.t(runs - 1).ppf(0.975)
    error = half / t
    return around(
        (low + high) / 2, error**2, runs - 1, spread=error * runs**0.5, runs=runs, scale=Scale.LOG
    )


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.04, 1.10, Verdict.BETTER),
        (1.01, 1.10, Verdict.UNDECIDED),
        (0.98, 1.02, Verdict.EQUIVALENT),
        (1.005, 1.025, Verdict.EQUIVALENT),
        (0.90, 1.10, Verdict.UNDECIDED),
        (0.90, 0.96, Verdict.WORSE),
        (0.96, 0.98, Verdict.UNDECIDED),
    ],
)
def test_the_band_decides_the_word(low, high, expected):
    assert verdicts(interval(low, high), 0.03, higher_is_better=True) == expected


def test_lower_is_better_turns_the_word_round():
    assert verdicts(interval(1.1, 1.2), 0.03, higher_is_better=False) == Verdict.WORSE
    assert verdicts(interval(0.8, 0.9), 0.03, higher_is_better=False) == Verdict.BETTER


def test_a_metric_without_a_direction_is_higher_or_lower():
    assert verdicts(interval(1.1, 1.2), 0.03, higher_is_better=None) == Verdict.HIGHER
    assert verdicts(interval(0.8, 0.9), 0.03, higher_is_better=None) == Verdict.LOWER


def test_the_band_is_symmetric_for_swapped_arms():
    rng = np.random.default_rng(0)
    arm, other = rng.lognormal(0, 0.02, (2, 200, 3))
    swapped = {"better": "worse", "worse": "better"}

    there = verdicts(ratio(arm, other), 0.03, higher_is_better=True)
    back = verdicts(ratio(other, arm), 0.03, higher_is_better=True)

    assert set(there) >= {"equivalent", "undecided"}
    assert [swapped.get(word, word) for word in there] == list(back)


def test_equivalent_agrees_with_two_one_sided_tests_of_statsmodels():
    rng = np.random.default_rng(1)
    arm, other = rng.lognormal(0, 0.02, (2, 50, 5))
    edge = np.log(1.03)
    p_values = [
        ttost_paired(a, b, -edge, edge)[0] for a, b in zip(np.log(arm), np.log(other), strict=True)
    ]

    words = verdicts(ratio(arm, other), 0.03, higher_is_better=True)

    assert 0 < np.sum(words == Verdict.EQUIVALENT) < 50
    np.testing.assert_array_equal(words == Verdict.EQUIVALENT, np.array(p_values) <= 0.025)


def test_without_a_band_nothing_is_equivalent():
    assert verdicts(interval(0.999, 1.001), 0.0, higher_is_better=True) == Verdict.UNDECIDED


def test_one_run_is_undecided_and_more_seeds_cannot_be_told():
    one = ratio([2.0], [1.0])

    more, outlook = seeds_to_decide(one, 0.03)

    assert verdicts(one, 0.03, higher_is_better=True) == Verdict.UNDECIDED
    assert (more, outlook) == (0, Outlook.UNKNOWABLE)


def test_more_runs_are_not_asked_for_where_prompts_make_the_interval():
    rng = np.random.default_rng(2)
    arm, other = (rng.random((2, 3, 100)) < 0.8).astype(float)

    assert seeds_to_decide(share_difference(arm, other), 0.01) == (0, Outlook.UNKNOWABLE)


def test_a_decided_comparison_needs_no_more_seeds():
    assert seeds_to_decide(interval(1.04, 1.10), 0.03) == (0, Outlook.DECIDED)


def test_the_seeds_asked_for_are_the_first_that_reach_the_distance():
    estimate = interval(1.01, 1.12)
    more, outlook = seeds_to_decide(estimate, 0.03)
    distance = np.log(estimate.value) - np.log(1.03)

    def reaches(n: int) -> bool:
        t = stats.t(n - 1)
        return (t.ppf(0.975) + t.ppf(0.8)) * estimate.spread / np.sqrt(n) <= distance

    assert outlook == Outlook.REACHABLE
    assert reaches(3 + int(more)) and not reaches(2 + int(more))


def test_an_effect_at_the_edge_of_the_band_is_out_of_reach():
    assert seeds_to_decide(interval(0.97, 1.0301**2 / 0.97), 0.03) == (0, Outlook.TOO_MANY)
