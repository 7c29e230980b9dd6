"""The scoreboard: a published figure gets exactly the verdict that the data here allow."""

from pathlib import Path

import pandas as pd
import pytest

from specdock.claims.arguments.measured import Measured
from specdock.claims.arguments.scoreboard import scoreboard
from specdock.plan.plan import replayed, resolved_study
from specdock.plan.resolve import resolve
from specdock.tables.schema import METRICS

ROOT = Path(__file__).parents[2]
SAMPLED = "one-card/acceptance/sampled/essays/mtp-production"
CODE = "one-card/table-one-stream/code/dflash2-fp8-served"  # 303.3 tok/s, one stream: noise 3 %


@pytest.fixture(scope="module")
def plan():
    return resolved_study(replayed(resolve(ROOT, "one-card"), ROOT))


def board(plan, folder, metric, values, arm="dflash2-fp8-served", scenario="humaneval-32@1"):
    """Rows by figure, where one arm has these values of a metric, one a seed, in one scenario."""
    frame = pd.DataFrame({"seed": range(1, len(values) + 1)}).assign(arm=arm, scenario=scenario)
    frame = frame.assign(**dict.fromkeys(METRICS, float("nan")), usable=True, synthetic=False)
    frame[metric] = values
    frame["cell"] = [f"cell-{seed}" for seed in frame["seed"]]
    frame.to_parquet(folder / "cells.parquet")
    return {row["figure"]: row for row in scoreboard(Measured(plan, folder, ROOT))}


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ([303.0, 304.0, 303.5], "reproduced"),
        ([250.0, 251.0, 250.5], "differs"),
        ([280.0, 320.0, 300.0], "undecided"),
        ([303.3], "undecided"),
        ([float("nan")], "not run"),
    ],
)
def test_the_verdict_needs_the_whole_interval(plan, tmp_path, rates, verdict):
    row = board(plan, tmp_path, "output_rate", rates)[CODE]
    assert row["verdict"] == verdict
    assert row["noise"] == pytest.approx(0.03)


def test_a_ratio_is_ours_over_the_published_value(plan, tmp_path):
    row = board(plan, tmp_path, "output_rate", [606.6, 606.6])[CODE]
    assert row["ratio"] == pytest.approx(2.0)
    assert row["cells"] == ["cell-1", "cell-2"]


def test_what_cannot_be_compared_says_why(plan, tmp_path):
    rows = board(plan, tmp_path, "output_rate", [300.0])
    august = rows["one-card/august/plain"]
    assert august["verdict"] == "not runnable here"
    assert august["reason"] == plan["unmapped"]["august-plain"]
    pool = rows["one-card/memory/kv-pool/dflash2-bf16"]
    assert (pool["verdict"], pool["reason"]) == (
        "not comparable here",
        "published of no single scenario",
    )


def test_another_definition_is_never_a_reproduction(tmp_path):
    plan = resolved_study(replayed(resolve(ROOT, "drafters-on-sglang"), ROOT))
    rows = board(plan, tmp_path, "al_counter", [3.43] * 3, "dflash2-8", "chat@1")
    row = rows["drafters-on-sglang/acceptance/chat@1/dflash2-8"]
    assert row["verdict"] == "definition differs"
    assert "al.lifetime" in row["reason"] and "al.counter" in row["reason"]


def test_other_prompts_are_never_a_reproduction(tmp_path):
    plan = resolved_study(replayed(resolve(ROOT, "drafters-on-sglang"), ROOT))
    rows = board(plan, tmp_path, "output_rate", [137.5] * 3, "dflash2-8", "prompt-20k@4")
    row = rows["drafters-on-sglang/output-rate/prompt-20k@4/dflash2-8"]
    assert (row["verdict"], row["ours"]) == ("definition differs", pytest.approx(137.5))
    assert row["reason"] == plan["differs"]["prompt-20k@4"]
    unrun = rows["drafters-on-sglang/ttft/prompt-120k@1/dflash2-8"]
    assert unrun["verdict"] == "not run" and plan["differs"]["prompt-120k@1"] in unrun["reason"]


def test_a_scenario_of_another_name_stands_for_the_published_one(plan, tmp_path):
    place = ("mtp-production", "essays-card-sampling@8")
    row = board(plan, tmp_path, "al_counter", [2.51] * 2, *place)[SAMPLED]
    assert (row["scenario"], row["ours"]) == ("essays-card-sampling", pytest.approx(2.51))
    assert row["cells"] == ["cell-1", "cell-2"]


def test_the_production_measurement_says_why_it_is_not_run_here(plan, tmp_path):
    rows = board(plan, tmp_path, "output_rate", [300.0])
    production = [row for row in rows.values() if row["arm"] == "served-in-production"]
    assert len(production) >= 3
    assert {row["verdict"] for row in production} == {"not runnable here"}
    assert all("author's own machine" in row["reason"] for row in production)


def test_seconds_become_milliseconds(tmp_path, plan):
    rows = board(plan, tmp_path, "ttft_median", [24200.0] * 2, "mtp-production", "essays@32")
    row = rows["one-card/load/essays-32/ttft-production"]
    assert row["published"] == pytest.approx(24200)
    assert row["verdict"] == "reproduced"
