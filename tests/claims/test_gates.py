"""Gates, with the four of the published confirmation as the model."""

import numpy as np
import pytest

from specdock.claims.gates import DecidedBy, Outcome, Threshold, evaluate, threshold
from specdock.claims.intervals import Scale, StatisticsError, difference, mean_over_runs, ratio


def test_the_published_gates_pass_by_their_point_estimates_only():
    gates = [
        (ratio([162.6], [153.4]), {"at_least": 0.03, "against": Scale.LOG}),
        (
            ratio([1617.5], [1608.6]),
            {"no_worse_than": -0.02, "against": Scale.LOG, "higher_is_better": True},
        ),
        (mean_over_runs([195.0], Scale.LINEAR), {"at_least": 194}),
        (mean_over_runs([80814.0]), {"at_most": 85000}),
    ]

    results = [evaluate(estimate, threshold(**gate), noise=0.03) for estimate, gate in gates]

    assert {result.outcome for result in results} == {Outcome.PASSED}
    assert {result.decided_by for result in results} == {DecidedBy.POINT_ESTIMATE}
    assert results[0].margin == pytest.approx(np.log(162.6 / 153.4 / 1.03))
    assert results[0].margin_over_noise == pytest.approx(results[0].margin / 0.03)


def test_a_run_without_known_noise_has_no_margin_over_it():
    result = evaluate(ratio([162.6], [153.4]), Threshold(1.03, at_least=True))

    assert result.margin > 0 and result.margin_over_noise is None


@pytest.mark.parametrize(
    ("arm", "outcome", "decided_by"),
    [
        ([110.0, 110.4, 109.8], Outcome.PASSED, DecidedBy.INTERVAL),
        ([104.0, 101.5, 106.0], Outcome.NOT_DECIDABLE, DecidedBy.INTERVAL),
        ([101.0, 101.2, 100.9], Outcome.FAILED, DecidedBy.INTERVAL),
    ],
)
def test_with_replicates_the_interval_decides(arm, outcome, decided_by):
    gate = threshold(at_least=0.03, against=Scale.LOG)

    result = evaluate(ratio(arm, [100.0, 100.0, 100.0]), gate)

    assert (result.outcome, result.decided_by) == (outcome, decided_by)


def test_the_margin_is_counted_in_half_widths():
    estimate = ratio([110.0, 112.0, 109.0], [100.0, 100.0, 100.0])

    result = evaluate(estimate, Threshold(1.03, at_least=True))

    half = np.log(estimate.high / estimate.low) / 2
    assert result.margin_over_noise == pytest.approx(np.log(estimate.value / 1.03) / half)
    assert (result.margin_over_noise >= 1) == (result.outcome is Outcome.PASSED)


def test_no_worse_than_looks_at_the_metrics_bad_side():
    faster = threshold(no_worse_than=0.02, against=Scale.LOG, higher_is_better=False)
    slower_ttft = ratio([105.0, 105.1, 104.9], [100.0, 100.0, 100.0])

    assert faster == Threshold(1.02, at_least=False)
    assert evaluate(slower_ttft, faster).outcome is Outcome.FAILED


def test_a_gate_on_a_difference_takes_its_limit_as_it_is():
    gate = threshold(no_worse_than=-0.01, against=Scale.LINEAR, higher_is_better=True)

    assert gate == Threshold(-0.01, at_least=True)
    result = evaluate(difference([0.97, 0.975, 0.97], [0.97, 0.97, 0.97]), gate)
    assert result.outcome is Outcome.PASSED


def test_a_count_that_never_changes_is_decided_without_noise():
    result = evaluate(mean_over_runs([195.0] * 3, Scale.LINEAR), Threshold(194, at_least=True))

    assert (result.outcome, result.decided_by) == (Outcome.PASSED, DecidedBy.INTERVAL)
    assert result.margin_over_noise is None


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("runs", [1, 3])
def test_exactly_at_the_limit_passes(scale, runs):
    for value in (194.0, 85000.0, 0.1):
        estimate = mean_over_runs([value] * runs, scale)

        assert evaluate(estimate, Threshold(value, at_least=True)).outcome is Outcome.PASSED
        assert evaluate(estimate, Threshold(value, at_least=False)).outcome is Outcome.PASSED


def test_a_gate_without_data_is_not_decidable():
    result = evaluate(ratio([np.nan], [100.0]), Threshold(1.03, at_least=True))

    assert (result.outcome, result.decided_by) == (Outcome.NOT_DECIDABLE, DecidedBy.NOTHING)


def test_a_gate_with_two_thresholds_is_refused():
    with pytest.raises(StatisticsError, match="one threshold, found 2"):
        threshold(at_least=1.0, at_most=2.0)


def test_no_worse_than_without_a_direction_is_refused():
    with pytest.raises(StatisticsError, match="better direction"):
        threshold(no_worse_than=-0.02, against=Scale.LOG)
