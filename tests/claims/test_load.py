"""Crossing, waiting and schedules."""

import heapq
from itertools import pairwise

import numpy as np
import pytest

from specdock.claims.intervals import StatisticsError
from specdock.claims.load import (
    crossing,
    queueing_share,
    recommend_schedule,
    schedule_rates,
    waits,
)

LEVELS = [1, 8, 32]


def closed_loop(streams: int, slots: int, requests: int, prefill: float, decode: np.ndarray):
    """An engine with slots and first-come service, and clients that send again when answered."""
    send, first, end = np.zeros((3, requests))
    free = [0.0] * slots
    clients = [0.0] * streams
    for i in range(requests):
        send[i] = heapq.heappop(clients)
        start = max(send[i], heapq.heappop(free))
        first[i] = start + prefill
        end[i] = first[i] + decode[i]
        heapq.heappush(free, end[i])
        heapq.heappush(clients, end[i])
    return send, first, end


def test_the_crossing_lies_where_the_logarithms_meet():
    arm, against = np.array([[153.0], [791.6], [1209.3]]), np.array([[61.0], [446.4], [1366.7]])
    before, after = np.log(791.6 / 446.4), np.log(1209.3 / 1366.7)
    expected = np.exp(np.log(8) + before / (before - after) * np.log(4))

    found = crossing(LEVELS, arm, against)

    assert found.level == pytest.approx(expected)
    assert found.low is None and found.high is None


def test_replicates_give_the_crossing_an_interval_around_it():
    rng = np.random.default_rng(0)
    arm = np.array([[153.0], [791.6], [1209.3]]) * rng.lognormal(0, 0.01, (3, 5))
    against = np.array([[61.0], [446.4], [1366.7]]) * rng.lognormal(0, 0.01, (3, 5))

    found = crossing(LEVELS, arm, against)

    assert 8 < found.low < found.level < found.high < 32
    assert not found.open_below and not found.open_above


def test_runs_that_agree_to_the_last_digit_leave_the_point_as_its_interval():
    arm = np.array([[153.0], [791.6], [1209.3]]).repeat(3, axis=1)
    against = np.array([[61.0], [446.4], [1366.7]]).repeat(3, axis=1)

    found = crossing(LEVELS, arm, against)

    assert found.low == pytest.approx(found.level) == pytest.approx(found.high)


def test_arms_that_never_meet_have_no_crossing():
    found = crossing(LEVELS, np.full((3, 3), 2.0), np.ones((3, 3)))

    assert np.isnan(found.level) and found.low is None


def test_an_interval_that_leaves_the_measured_range_says_so():
    noise = np.array([-0.1, 0.0, 0.1])
    gap = np.array([0.5, 0.3, -0.02])

    found = crossing(LEVELS, np.exp(gap[:, None] + noise), np.ones((3, 3)))

    assert found.open_above and found.high == pytest.approx(32) and not found.open_below


def test_levels_must_rise():
    with pytest.raises(StatisticsError, match=r"rising levels, found \[8, 1\]"):
        crossing([8, 1], np.ones((2, 1)), np.ones((2, 1)))


def test_waits_are_those_of_a_simulated_engine():
    rng = np.random.default_rng(1)
    decode = rng.uniform(0.5, 2.0, 64)
    send, first, end = closed_loop(32, 6, 64, 0.2, decode)

    found = waits(send, first, end, request_slots=6)

    np.testing.assert_allclose(found.prefill, 0.2)
    np.testing.assert_allclose(found.queue, first - send - 0.2, atol=1e-12)
    np.testing.assert_allclose(found.decode, decode)
    assert queueing_share(found) > 0.9


def test_the_order_of_the_rows_does_not_matter():
    send, first, end = closed_loop(32, 6, 64, 0.2, np.full(64, 1.0))
    mixed = np.random.default_rng(2).permutation(64)

    found = waits(send[mixed], first[mixed], end[mixed], request_slots=6)

    assert found.queue.sum() == pytest.approx(waits(send, first, end, 6).queue.sum())


@pytest.mark.parametrize("requests", [4, 64])
def test_nobody_waits_when_there_are_slots_enough(requests):
    found = waits(*closed_loop(8, 32, requests, 0.2, np.full(requests, 1.0)), request_slots=32)

    assert queueing_share(found) == 0


def test_the_published_sweep_recommends_seven_drafts_then_three():
    streams, drafts = [1, 8, 32], [3, 7]
    rates = [[121.5, 760.0, 1672.8], [153.0, 791.6, 1209.3]]

    schedule = recommend_schedule(streams, drafts, rates, band=0.0)

    (first, seven, long), (next_first, last, short) = schedule
    assert (first, long, short, last) == (1, 7, 3, 32)
    assert next_first == seven + 1 and 8 <= seven < 16


def test_ties_within_the_band_go_to_fewer_drafts():
    rates = [[100.0, 100.0], [102.0, 102.0], [103.1, 102.0]]

    assert recommend_schedule([1, 2], [3, 5, 7], rates, band=0.03) == [(1, 1, 5), (2, 2, 3)]


def test_ranges_are_inclusive_and_complete_from_one():
    rng = np.random.default_rng(3)
    schedule = recommend_schedule([2, 8, 32], [0, 3, 7], rng.lognormal(0, 1, (3, 3)), band=0.02)

    covered = [n for first, last, _ in schedule for n in range(first, last + 1)]
    assert covered == list(range(1, 33))
    assert all(a[2] != b[2] for a, b in pairwise(schedule))


def test_the_order_of_the_draft_lengths_does_not_matter():
    rates = [[153.0, 791.6, 1209.3], [121.5, 760.0, 1672.8]]

    assert recommend_schedule(LEVELS, [7, 3], rates, 0.0) == recommend_schedule(
        LEVELS, [3, 7], rates[::-1], 0.0
    )


def test_a_schedule_promises_the_rate_of_the_arm_that_it_uses():
    rates = [[121.5, 760.0, 1672.8], [153.0, 791.6, 1209.3]]

    promised = schedule_rates([(1, 12, 7), (13, 24, 3)], LEVELS, [3, 7], rates)

    np.testing.assert_array_equal(promised, [153.0, 791.6, np.nan])
