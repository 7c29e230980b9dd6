"""Shares of correct answers against statsmodels, McNemar's test and a search of the likelihood."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit, xlogy
from scipy.stats import norm
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from specdock.claims.accuracy import share, share_difference
from specdock.claims.intervals import Basis, StatisticsError


def answers(both: int, only_arm: int, only_other: int, neither: int) -> tuple[np.ndarray, ...]:
    """A paired two-by-two table as grades of one run."""
    counts = (both, only_arm, only_other, neither)
    return np.repeat([1, 1, 0, 0], counts)[None], np.repeat([1, 0, 1, 0], counts)[None]


def test_a_share_of_one_run_is_wilsons_interval_with_students_quantile():
    correct = np.repeat([1, 0], [195, 5])[None]
    alpha = 2 * norm.sf(stdtrit(199, 0.975))

    found = share(correct)

    assert found.value == 0.975 and found.basis == Basis.WITHIN_RUN
    expected = proportion_confint(195, 200, alpha, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected)


def worst_deviance(table: tuple[int, ...], d: float) -> float:
    """Tango's statistic at a true difference d, from a numeric search of the likelihood."""
    both, gained, lost, neither = table
    n = sum(table)

    def unlikely(q: float) -> float:
        cells = ((gained, q + d), (lost, q), (both + neither, 1 - 2 * q - d))
        return -sum(xlogy(count, max(share, 1e-300)) for count, share in cells)

    q = minimize_scalar(
        unlikely, bounds=(max(0, -d), (1 - d) / 2), method="bounded", options={"xatol": 1e-13}
    ).x
    return (gained - lost - n * d) / np.sqrt(n * (2 * q + d - d**2))


@pytest.mark.parametrize(
    "table", [(150, 20, 8, 22), (195, 0, 0, 5), (190, 3, 0, 7), (0, 1, 30, 2), (0, 9, 0, 0)]
)
def test_a_paired_difference_of_one_run_is_tangos_interval_with_students_quantile(table):
    n, z = sum(table), stdtrit(sum(table) - 1, 0.975)

    found = share_difference(*answers(*table))

    assert found.value == pytest.approx((table[1] - table[2]) / n)
    assert worst_deviance(table, float(found.low)) == pytest.approx(z, abs=1e-4)
    if found.high < 1:
        assert worst_deviance(table, float(found.high)) == pytest.approx(-z, abs=1e-4)
    else:
        assert table[1] == n


@pytest.mark.parametrize("gained", range(6, 30))
def test_a_difference_is_told_from_none_where_mcnemars_test_does(gained):
    lost = 6
    told = mcnemar([[80, gained], [lost, 20]], exact=False, correction=False).pvalue
    limit = 2 * norm.sf(stdtrit(99 + gained + lost, 0.975))

    assert (share_difference(*answers(80, gained, lost, 20)).low > 0) == (told < limit)


def test_all_answers_alike_still_leave_an_interval():
    arm, other = answers(195, 0, 0, 5)

    found = share_difference(np.repeat(arm, 3, 0), np.repeat(other, 3, 0))

    assert found.value == 0 and found.low == pytest.approx(-found.high)
    assert 0.005 < found.high < 0.02
    assert share(np.ones((3, 200))).high == 1 and 0.97 < share(np.ones((3, 200))).low < 0.99


def test_a_few_answers_of_a_few_runs_are_no_more_evidence_than_one_run():
    arm, other = np.ones((10, 200)), np.ones((10, 200))
    other[0, 0] = 0
    rare, none = share_difference(arm, other), share_difference(arm, np.ones((10, 200)))

    assert rare.value == 1 / 2000
    assert np.ptp([rare.low, rare.high]) == pytest.approx(np.ptp([none.low, none.high]), rel=0.05)


def test_the_variance_is_that_of_the_two_way_table():
    rng = np.random.default_rng(2)
    start = np.linspace(-0.15, 0.15, 5)[:, None]
    grades = (rng.random((5, 60)) < 0.5 + start).astype(float)
    table = pd.DataFrame(
        [(r, p, grades[r, p]) for r, p in np.ndindex(grades.shape)], columns=["r", "p", "y"]
    )
    square = anova_lm(ols("y ~ C(r) + C(p)", table).fit())["mean_sq"]
    total = square["C(r)"] + square["C(p)"] - square["Residual"]
    df = max(4, total**2 / (square**2 / [4, 59, 236]).sum())
    answers = grades.var() * 60 / 59 / (total / grades.size)
    alpha = 2 * norm.sf(stdtrit(df, 0.975))

    assert square["C(r)"] > square["Residual"]
    found = share(grades)
    expected = proportion_confint(answers * grades.mean(), answers, alpha, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected)


def test_answers_drawn_anew_in_every_run_are_more_evidence():
    rng = np.random.default_rng(4)
    anew = (rng.random((10, 200)) < 0.8).astype(float)

    found, one = share(anew), share(anew[:1])

    assert np.ptp([found.low, found.high]) < 0.5 * np.ptp([one.low, one.high])


def test_the_same_answers_in_every_run_are_no_more_evidence_than_one_run():
    correct = np.repeat([1, 0], [180, 20])[None]

    one, five = share(correct), share(np.repeat(correct, 5, 0))

    assert five.high - five.low == pytest.approx(one.high - one.low, rel=1e-9)
    assert five.basis == Basis.RUNS


def test_starts_that_differ_widen_the_interval():
    rng = np.random.default_rng(3)
    alike = (rng.random((3, 200)) < 0.8).astype(float)
    broken = alike.copy()
    broken[0, :40] = 0

    assert np.ptp([share(broken).low, share(broken).high]) > 2 * np.ptp(
        [share(alike).low, share(alike).high]
    )


def test_prompts_without_a_grade_are_refused():
    with pytest.raises(StatisticsError, match="keep the prompts graded in all"):
        share([[1.0, np.nan, 0.0]])


def test_unpaired_shapes_are_refused():
    with pytest.raises(StatisticsError, match=r"found \(1, 3\) and \(1, 2\)"):
        share_difference(np.ones((1, 3)), np.ones((1, 2)))
