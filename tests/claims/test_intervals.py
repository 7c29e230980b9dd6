"""Intervals between runs, against scipy and statsmodels, and what they refuse to say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from specdock.claims.intervals import (
    Basis,
    Scale,
    StatisticsError,
    difference,
    mean_over_runs,
    ratio,
)
from specdock.claims.percentiles import minimum_n, percentile_allowed

RNG = np.random.default_rng(0)
A = np.array([153.4, 150.2, 155.9, 151.7])
B = np.array([108.0, 107.1, 110.4, 106.2])


def test_a_level_is_students_interval_of_the_logarithms():
    expected = DescrStatsW(np.log(A)).tconfint_mean(0.05)

    found = mean_over_runs(A)

    np.testing.assert_allclose([found.low, found.high], np.exp(expected))
    assert found.value == pytest.approx(stats.gmean(A))
    assert found.spread == pytest.approx(np.log(A).std(ddof=1))


def test_a_paired_ratio_is_scipys_paired_interval_of_the_logarithms():
    expected = stats.ttest_rel(np.log(A), np.log(B)).confidence_interval(0.95)

    found = ratio(A, B)

    np.testing.assert_allclose([found.low, found.high], np.exp([expected.low, expected.high]))


def test_arms_with_other_seeds_get_welchs_interval():
    nan = np.nan
    arm, against = np.array([*A, nan, nan]), np.array([nan, *B[:3], nan, 105.0])
    expected = CompareMeans.from_data(np.log(A), np.log([*B[:3], 105.0])).tconfint_diff(
        usevar="unequal"
    )

    found = ratio(arm, against)

    np.testing.assert_allclose([found.low, found.high], np.exp(expected))


def test_a_difference_is_scipys_on_the_plain_scale():
    expected = stats.ttest_rel(A, B).confidence_interval(0.95)

    found = difference(A, B)

    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high])


@given(
    st.lists(st.floats(0.1, 1e4), min_size=2, max_size=6),
    st.lists(st.floats(0.1, 1e4), min_size=2, max_size=6),
)
def test_a_ratio_of_arms_is_the_ratio_of_their_levels(a, b):
    width = len(a) + len(b)
    arm, against = np.full(width, np.nan), np.full(width, np.nan)
    arm[: len(a)], against[len(a) :] = a, b

    levels = mean_over_runs(arm).value / mean_over_runs(against).value

    assert ratio(arm, against).value == pytest.approx(levels)


def test_one_run_has_no_interval_and_says_so():
    found = ratio(A[:1], B[:1])

    assert found.basis == Basis.NONE
    assert found.value == pytest.approx(A[0] / B[0])
    assert np.isnan(found.low) and np.isnan(found.high) and np.isnan(found.spread)


def test_one_run_of_either_arm_leaves_no_interval():
    arm, against = np.array([1.0, 1.1, 1.2]), np.array([1.0, np.nan, np.nan])

    assert ratio(arm, against).basis == Basis.NONE


def test_missing_cells_are_left_out_in_both_arms_alike():
    holed_a, holed_b = A.copy(), B.copy()
    holed_a[1] = holed_b[1] = np.nan
    keep = [0, 2, 3]

    found, expected = ratio(holed_a, holed_b), ratio(A[keep], B[keep])

    assert (found.low, found.high, found.runs) == (expected.low, expected.high, 3)


def test_an_arm_without_any_cell_has_no_value():
    found = mean_over_runs(np.full((2, 3), np.nan))

    assert np.isnan(found.value).all() and (found.runs == 0).all()


def test_many_comparisons_at_once_equal_each_alone():
    arm, against = RNG.lognormal(size=(4, 3, 5)), RNG.lognormal(size=(4, 3, 5))
    together = ratio(arm, against)

    for index in np.ndindex(4, 3):
        alone = ratio(arm[index], against[index])
        assert together[index].low == pytest.approx(float(alone.low))
        assert together[index].high == pytest.approx(float(alone.high))


def test_a_ratio_of_zero_is_refused_with_the_way_out():
    with pytest.raises(StatisticsError, match=r"found 0; compare this metric by difference"):
        ratio([0.0, 1.0], [1.0, 1.0])


def test_a_share_can_be_averaged_on_the_plain_scale():
    assert mean_over_runs([0.0, 0.5], Scale.LINEAR).value == 0.25


@pytest.mark.parametrize("p", [0.5, 0.9, 0.95, 0.99, 0.05])
def test_the_minimum_n_is_the_first_with_a_two_sided_interval(p):
    def extremes_reach(n: int) -> bool:
        """The range of n values lies on both sides of the quantile, each end at 97.5 %."""
        below = stats.binom(n, p)
        return below.pmf(n) <= 0.025 and below.pmf(0) <= 0.025

    n = minimum_n(p)

    assert extremes_reach(n) and not extremes_reach(n - 1)
    assert percentile_allowed(p, n) and not percentile_allowed(p, n - 1)


@pytest.mark.parametrize("p", [0, 1, 95])
def test_a_quantile_outside_zero_and_one_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        minimum_n(p)
