"""One factor at a time against a base."""

import numpy as np
import pytest

from specdock.claims.sweep import sweep

BASE = np.array([100.0, 101.0, 99.0])


def test_effects_are_sorted_by_size_on_the_log_scale():
    arms = ["faster", "slower", "same"]
    values = BASE * np.array([[1.3], [0.7], [1.0]])

    found = sweep(arms, values, BASE, band=0.03, higher_is_better=True)

    assert found.effects["arm"].tolist() == ["slower", "faster", "same"]
    assert found.effects["value"].tolist() == pytest.approx([0.7, 1.3, 1.0])
    assert found.effects["verdict"].tolist() == ["worse", "better", "equivalent"]


def test_the_noise_band_holds_the_effects_of_equal_arms():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(100):
        values = rng.lognormal(4, 0.02, (21, 3))
        found = sweep([str(i) for i in range(20)], values[1:], values[0], 0.03, True)
        inside.extend(np.abs(np.log(found.effects["value"])) <= np.log1p(found.noise))

    assert 0.92 <= np.mean(inside) <= 0.98


def test_single_runs_have_effects_but_no_noise_band():
    found = sweep(["a"], [[110.0]], [100.0], band=0.03, higher_is_better=True)

    assert found.effects["value"][0] == pytest.approx(1.1)
    assert np.isnan(found.noise) and found.effects["verdict"][0] == "undecided"


def test_a_missing_run_is_left_out_of_the_noise():
    holed = np.array([[110.0, 111.0, np.nan]])

    assert np.isfinite(sweep(["a"], holed, BASE, 0.03, True).noise)
