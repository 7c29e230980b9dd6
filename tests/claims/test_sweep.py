"""One factor at a time against a base."""

import numpy as np
import pytest

from specdock.claims.sweep import sweep

BASE = np.array([100.0, 101.0, 99.0])


def beside_base(values):
    """Every arm but the base, beside the base."""
    bases = {arm: "base" for arm in values if arm != "base"}
    return sweep(values, bases, band=0.03, higher_is_better=True)


def test_effects_are_sorted_by_size_on_the_log_scale():
    values = {"base": BASE, "faster": BASE * 1.3, "slower": BASE * 0.7, "same": BASE}

    found = beside_base(values)

    assert found.effects["arm"].tolist() == ["slower", "faster", "same"]
    assert found.effects["value"].tolist() == pytest.approx([0.7, 1.3, 1.0])
    assert found.effects["verdict"].tolist() == ["worse", "better", "equivalent"]


def test_the_noise_band_holds_the_effects_of_equal_arms():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(100):
        values = rng.lognormal(4, 0.02, (21, 3))
        found = beside_base({"base": values[0]} | {str(i): values[i + 1] for i in range(20)})
        inside.extend(np.abs(np.log(found.effects["value"])) <= np.log1p(found.noise))

    assert 0.92 <= np.mean(inside) <= 0.98


def test_single_runs_have_effects_but_no_noise_band():
    found = beside_base({"base": [100.0], "a": [110.0]})

    assert found.effects["value"][0] == pytest.approx(1.1)
    assert np.isnan(found.noise) and found.effects["verdict"][0] == "undecided"


def test_a_missing_run_is_left_out_of_the_noise():
    holed = np.array([110.0, 111.0, np.nan])

    assert np.isfinite(beside_base({"base": BASE, "a": holed}).noise)


def test_an_arm_stands_beside_its_own_base_in_the_noise_of_all():
    values = {"base": BASE, "other": BASE * 2, "varied": BASE * 1.8}

    found = sweep(values, {"other": "base", "varied": "other"}, 0.03, True)

    assert dict(zip(found.effects["arm"], found.effects["value"], strict=True)) == {
        "other": pytest.approx(2.0),
        "varied": pytest.approx(0.9),
    }
    assert found.noise == pytest.approx(beside_base(values).noise)
