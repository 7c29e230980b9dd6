"""Within one run: pairing by prompt, agreement with theory, and its type."""

import numpy as np
import pytest

from specdock.claims.bootstrap import median, pooled, ratio_of, within_run
from specdock.claims.intervals import Basis, StatisticsError
from specdock.claims.verdicts import Verdict, verdicts

RNG = np.random.default_rng(1)
TOKENS = RNG.integers(100, 500, 200).astype(float)
SECONDS = TOKENS / 100 * RNG.lognormal(0, 0.2, 200)


def test_a_pooled_rate_agrees_with_the_ratio_estimators_linearised_error():
    """Cochran (1977), section 6.4."""
    rate = TOKENS.sum() / SECONDS.sum()
    error = np.std(TOKENS - rate * SECONDS, ddof=1) / np.sqrt(200) / SECONDS.mean()

    found = within_run(pooled, TOKENS, SECONDS, draws=4000)

    assert found.value == pytest.approx(rate)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.07)


def test_prompts_drawn_for_one_arm_are_drawn_for_the_other():
    paired = within_run(ratio_of(pooled), TOKENS, SECONDS, TOKENS, SECONDS * 2)

    assert (paired.low, paired.value, paired.high) == pytest.approx((2, 2, 2))


def test_a_median_lies_in_its_interval():
    found = within_run(median, SECONDS)

    assert found.low < np.median(SECONDS) == found.value < found.high


def test_it_is_typed_as_within_one_run_and_decides_nothing():
    found = within_run(ratio_of(pooled), TOKENS, SECONDS, TOKENS, SECONDS * 2)

    assert found.basis == Basis.WITHIN_RUN
    assert verdicts(found, 0.03, higher_is_better=True) == Verdict.UNDECIDED


def test_a_prompt_missing_in_an_arm_is_refused():
    holed = np.where(np.arange(200) == 3, np.nan, SECONDS)

    with pytest.raises(StatisticsError, match="keep the common prompts"):
        within_run(pooled, TOKENS, holed)


def test_one_prompt_is_refused():
    with pytest.raises(StatisticsError, match="at least two prompts"):
        within_run(median, [1.0])


def test_the_same_seed_draws_the_same_prompts():
    assert within_run(median, SECONDS).low == within_run(median, SECONDS).low
