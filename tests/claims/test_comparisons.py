"""From the table of cells to levels and comparisons."""

import numpy as np
import pandas as pd
import pytest

from specdock.claims.comparisons import cell_values, compare, levels
from specdock.claims.intervals import Basis, StatisticsError, mean_over_runs, ratio
from specdock.tables.schema import METRICS

SEEDS = [1, 2, 3]
SCENARIOS = ["essays@1", "essays@8"]
RNG = np.random.default_rng(0)
RATES = {
    ("mtp", "essays@1"): [108.0, 107.1, 109.2],
    ("mtp", "essays@8"): [672.2, 670.0, 675.1],
    ("dflash2", "essays@1"): [153.4, 150.2, 155.9],
    ("dflash2", "essays@8"): [674.0, 671.0, 673.9],
}
CELLS = pd.DataFrame(
    [
        {
            "arm": arm,
            "scenario": scenario,
            "seed": seed,
            "usable": True,
            "output_rate": rate,
            "accuracy": 0.97,
            "ttft_median": 100.0 + RNG.normal(),
        }
        for (arm, scenario), rates in RATES.items()
        for seed, rate in zip(SEEDS, rates, strict=True)
    ]
)


def compared(cells: pd.DataFrame, metrics: list[str], **bands: float) -> pd.DataFrame:
    return compare(cells, [("dflash2", "mtp")], bands, metrics, SCENARIOS, SEEDS)


def test_a_row_of_the_comparison_is_the_ratio_of_its_cells():
    row = compared(CELLS, ["output_rate"], output_rate=0.03).set_index("scenario").loc["essays@1"]
    expected = ratio(RATES["dflash2", "essays@1"], RATES["mtp", "essays@1"])

    assert (row["value"], row["low"], row["high"]) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    assert (row["kind"], row["definition"], row["band"]) == ("ratio", "output_rate.window", 0.03)
    assert (row["verdict"], row["runs"], row["basis"]) == ("better", 3, Basis.RUNS)


def test_verdicts_follow_each_scenario():
    found = compared(CELLS, ["output_rate"], output_rate=0.03).set_index("scenario")["verdict"]

    assert found.to_dict() == {"essays@1": "better", "essays@8": "equivalent"}


def test_shares_are_compared_by_difference():
    row = compared(CELLS, ["accuracy"], accuracy=0.01).iloc[0]

    assert (row["kind"], row["value"], row["verdict"]) == ("difference", 0.0, "equivalent")


def test_unusable_cells_are_never_averaged_in():
    broken = CELLS.copy()
    broken.loc[0, ["usable", "output_rate"]] = [False, 1e9]

    row = levels(broken, ["output_rate"], ["mtp"], SCENARIOS, SEEDS).iloc[0]

    assert row["value"] == pytest.approx(float(mean_over_runs([107.1, 109.2]).value))
    assert row["runs"] == 2


def test_a_scenario_that_an_arm_did_not_run_has_no_row():
    partial = CELLS[(CELLS["arm"] != "mtp") | (CELLS["scenario"] != "essays@8")]

    found = compared(partial, ["output_rate", "ttft_median"])

    assert found["scenario"].tolist() == ["essays@1", "essays@1"]


def test_cells_of_other_arms_and_seeds_are_left_out():
    found = cell_values(CELLS, "output_rate", ["dflash2"], ["essays@8"], [3, 9])

    np.testing.assert_array_equal(found, [[[673.9, np.nan]]])


def test_a_zero_that_cannot_be_a_ratio_is_named_with_its_cell():
    broken = CELLS.copy()
    broken.loc[4, "output_rate"] = 0.0

    with pytest.raises(StatisticsError, match="output_rate of mtp/essays@8, seed 2"):
        compared(broken, ["output_rate"])


def test_every_metric_of_the_schema_can_be_compared():
    cells = CELLS.assign(**{metric: CELLS["output_rate"] for metric in METRICS})

    found = compared(cells, list(METRICS))

    assert set(found["metric"]) == set(METRICS)
    directionless = {name for name, metric in METRICS.items() if metric.higher_is_better is None}
    words = found[found["metric"].isin(directionless)]["verdict"]
    assert not set(words) & {"better", "worse"}
