"""Shares of correct answers against published intervals and statsmodels' analysis of variance."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from specdock.claims.accuracy import share, share_difference
from specdock.claims.intervals import Basis, StatisticsError


def answers(both: int, only_arm: int, only_other: int, neither: int) -> tuple[np.ndarray, ...]:
    """A paired two-by-two table as grades of one run."""
    counts = (both, only_arm, only_other, neither)
    return np.repeat([1, 1, 0, 0], counts)[None], np.repeat([1, 0, 1, 0], counts)[None]


def test_a_share_of_one_run_is_agresti_and_coulls_interval():
    correct = np.repeat([1, 0], [195, 5])[None]
    p, n = 197 / 204, 204
    half = stdtrit(n - 1, 0.975) * np.sqrt(p * (1 - p) / (n - 1))

    found = share(correct)

    assert found.value == 0.975
    assert (found.low, found.high) == pytest.approx((p - half, p + half))
    assert found.basis == Basis.WITHIN_RUN


def test_a_paired_difference_of_one_run_is_bonett_and_prices_interval():
    arm, other = answers(150, 20, 8, 22)
    n = 202
    d = (20 - 8) / n
    half = 1.96 * np.sqrt(((21 + 9) / n - d**2) / n)

    found = share_difference(arm, other)

    assert found.value == pytest.approx(0.06)
    assert (found.low, found.high) == pytest.approx((d - half, d + half), abs=5e-4)


def test_all_answers_alike_still_leave_an_interval():
    arm, other = answers(195, 0, 0, 5)

    found = share_difference(np.repeat(arm, 3, 0), np.repeat(other, 3, 0))

    assert found.value == 0 and found.low == -found.high
    assert 0.005 < found.high < 0.02


def test_the_variance_is_that_of_the_two_way_table():
    rng = np.random.default_rng(2)
    start = np.linspace(-0.15, 0.15, 5)[:, None]
    grades = (rng.random((5, 60)) < 0.5 + start).astype(float)
    padded = np.hstack([grades, np.tile([1, 1, 0, 0], (5, 1))])
    table = pd.DataFrame(
        [(r, p, padded[r, p]) for r, p in np.ndindex(padded.shape)], columns=["r", "p", "y"]
    )
    square = anova_lm(ols("y ~ C(r) + C(p)", table).fit())["mean_sq"]
    total = square["C(r)"] + square["C(p)"] - square["Residual"]
    df = total**2 / (square**2 / [4, 63, 252]).sum()
    half = stdtrit(df, 0.975) * np.sqrt(total / padded.size)

    assert square["C(r)"] > square["Residual"]
    found = share(grades)
    assert (found.low, found.high) == pytest.approx((padded.mean() - half, padded.mean() + half))


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
