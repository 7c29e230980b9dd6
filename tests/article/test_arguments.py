"""Tables of the argument, from invented studies whose answers are known."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY
from scipy.stats import gmean
from synthetic_study import WEIGHTS, WHOLE, SyntheticStudy

from specdock.claims.accuracy import share_difference
from specdock.claims.arguments import ARGUMENTS
from specdock.claims.arguments.chain import chain
from specdock.claims.arguments.contrasts import contrasts
from specdock.claims.arguments.limit import limit
from specdock.claims.arguments.load import crossings
from specdock.claims.arguments.measured import Measured
from specdock.claims.arguments.sweep import sweep
from specdock.claims.build import build_claims

BANDWIDTH = """no-machine/memory-bandwidth:
  title: memory bandwidth of no machine
  value: 900
  unit: GB/s
  source: nobody
  address: https://example.org
  date: March 2026
  quotation: "a bandwidth of 900 GB/s"
"""


def measured_of(folder: Path) -> Measured:
    plan = json.loads((folder / "plan.json").read_text("utf-8"))
    return Measured(plan, folder / "tables", folder.parents[1])


def rows_of(folder: Path, table: str, **where: object) -> list[dict]:
    rows = pq.read_table(folder / f"claims/{table}.parquet").to_pylist()
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def rewrite(file: Path, column: str, change) -> None:
    """Puts `change(row)` into one column of a Parquet file."""
    table = pq.read_table(file)
    field = table.schema.field(column)
    values = pa.array([change(row) for row in table.to_pylist()], field.type)
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, field, values), file)


def rates_of(folder: Path) -> dict[tuple[str, str], float]:
    """Output rates by arm and scenario."""
    rows = rows_of(folder, "estimates", metric="output_rate")
    return {(row["arm"], row["scenario"]): row["value"] for row in rows}


def claims_again(folder: Path) -> None:
    measured = measured_of(folder)
    build_claims(measured.plan, measured.tables, measured.root, folder / "claims")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("study")
    return SyntheticStudy(unusable=None, not_run=None).write(root)


@pytest.fixture
def fresh(study: Path, tmp_path: Path) -> Path:
    """The same study, to be changed."""
    return shutil.copytree(study.parents[1], tmp_path / "root") / "results" / study.name


def test_the_rule_and_the_code_name_the_same_tables():
    rule = (REPOSITORY / "rules/claims.smk").read_text("utf-8")
    made = set(re.findall(r'"results/\{study\}/claims/(\w+)\.parquet"', rule))
    assert made == {"estimates", "comparisons", "gates", *ARGUMENTS}


def test_every_row_has_the_columns_of_its_table_and_a_name_of_its_own(study):
    for table, made in ARGUMENTS.items():
        rows = list(made.rows(measured_of(study)))
        keys = [tuple(row[key] for key in made.keys) for row in rows]
        assert len(set(keys)) == len(keys), table
        for row in rows:
            assert row.keys() <= set(made.schema.names), table


# Correctness


def test_a_pair_of_arms_is_compared_prompt_by_prompt_in_every_start(study):
    row = rows_of(study, "accuracy_pairs", arm="drafter", against="plain")[0]
    requests = pq.read_table(study / "tables/requests.parquet").to_pandas()
    sums = requests[requests["scenario"] == row["scenario"]].astype({"correct": float})
    ours, plain = (
        sums[sums["arm"] == arm].pivot(index="seed", columns="prompt_id", values="correct")
        for arm in ("drafter", "plain")
    )
    expected = share_difference(ours.to_numpy(), plain.to_numpy())
    assert (row["difference"], row["difference_low"]) == (expected.value, expected.low)
    assert row["gained"] - row["lost"] == round(row["difference"] * ours.size)
    assert row["prompts"] == 12 and row["seeds"] == 3


def test_a_prompt_that_a_start_did_not_answer_is_left_out_of_every_start(fresh):
    rewrite(
        fresh / "tables/requests.parquet",
        "error",
        lambda row: (
            "lost" if (row["arm"], row["seed"], row["request"]) == ("plain", 2, 0) else None
        ),
    )
    claims_again(fresh)
    assert rows_of(fresh, "accuracy", arm="plain")[0]["prompts"] == 11
    assert rows_of(fresh, "accuracy", arm="drafter")[0]["prompts"] == 12
    assert rows_of(fresh, "accuracy_pairs", arm="drafter", against="plain")[0]["prompts"] == 11


def test_an_arm_that_changes_its_text_is_less_repeatable_than_plain_decoding(tmp_path):
    folder = SyntheticStudy(outcome="loses").write(tmp_path)
    row = rows_of(folder, "losslessness", arm="drafter", scenario="essays@1")[0]
    assert row["verdict"] == "worse" and row["same"] < 0.6 < row["control"]
    assert row["compared_as"] == "characters"


def test_an_arm_that_differs_as_plain_starts_do_is_not_called_worse(study):
    verdicts = {row["verdict"] for row in rows_of(study, "losslessness")}
    assert verdicts <= {"undecided", "equivalent"}


def test_token_ids_are_compared_where_the_engine_gives_them(fresh):
    for file in fresh.glob("raw/*/*/*/requests.parquet"):
        last = int(file.parts[-4] == "drafter")
        rewrite(file, "token_ids", lambda row, last=last: [7, 8, row["request"], last])
    claims_again(fresh)
    row = rows_of(fresh, "losslessness", arm="drafter", scenario="code@1")[0]
    assert row["compared_as"] == "token ids"
    assert (row["same"], row["control"], row["divergence"]) == (0.0, 1.0, 3.0)


def test_one_start_of_plain_decoding_is_no_control(tmp_path):
    folder = SyntheticStudy(seeds=[1]).write(tmp_path)
    row = rows_of(folder, "losslessness", arm="drafter")[0]
    assert row["same"] is None and row["verdict"] == "undecided"
    assert "further start of plain decoding" in row["reason"]


def test_two_starts_are_one_pair_whose_interval_decides_nothing(tmp_path):
    folder = SyntheticStudy(seeds=[1, 2], outcome="loses").write(tmp_path)
    row = rows_of(folder, "losslessness", arm="drafter", scenario="essays@1")[0]
    assert row["outputs"] == 12 and row["basis"] == "within one run"
    assert row["verdict"] == "undecided"


# Acceptance


def test_a_subject_has_the_pooled_length_of_its_own_requests(study):
    row = rows_of(study, "acceptance", arm="drafter", scenario="code@1", category="math")[0]
    requests = pq.read_table(study / "tables/requests.parquet").to_pandas()
    own = requests[
        (requests["arm"] == "drafter")
        & (requests["scenario"] == "code@1")
        & (requests["category"] == "math")
    ]
    starts = own.assign(kept=own["completion_tokens"] - 1).groupby("seed")[["kept", "steps"]].sum()
    assert row["length"] == pytest.approx(gmean(starts["kept"] / starts["steps"]))
    assert row["requests"] == len(own) == 18


def test_places_multiply_from_the_share_of_the_place_before(study):
    places = rows_of(study, "positions", arm="ngram", scenario="code@1")
    assert [row["position"] for row in places] == [1, 2, 3, 4, 5]
    assert np.cumprod([row["conditional"] for row in places]) == pytest.approx(
        [row["accepted"] for row in places]
    )
    assert all(0 <= row["accepted_low"] <= row["accepted_high"] <= 1 for row in places)


def test_a_step_is_worth_its_length_over_its_cost(study):
    rows = rows_of(study, "steps")
    assert {row["arm"] for row in rows} == {"ngram", "ngram-matched", "drafter"}
    for row in rows:
        assert row["worth"] == pytest.approx(row["length"] / row["cost"])
        assert row["cost"] == pytest.approx(row["step_time"] / row["plain_step_time"])


def test_what_the_steps_predict_and_what_came_out_make_the_rest(study):
    rates = rates_of(study)
    for row in rows_of(study, "steps"):
        ours, plain = (rates[arm, row["scenario"]] for arm in (row["arm"], "plain"))
        assert row["rate"] == pytest.approx(ours / plain)
        assert row["rest"] == pytest.approx(row["rate"] / row["worth"])
        assert row["rest_low"] < row["rest"] < row["rest_high"]


def test_an_arm_that_loses_time_outside_its_steps_falls_short_of_them(fresh):
    rewrite(
        fresh / "tables/cells.parquet",
        "output_rate",
        lambda row: row["output_rate"] * (0.5 if row["arm"] == "drafter" else 1),
    )
    claims_again(fresh)
    assert {row["verdict"] for row in rows_of(fresh, "steps", arm="drafter")} == {"worse"}
    assert "worse" not in {row["verdict"] for row in rows_of(fresh, "steps", arm="ngram")}


# The chain and the sweep


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a chain, a sweep, a schedule and a drift control."""
    return SyntheticStudy(**WHOLE).write(tmp_path_factory.mktemp("whole"))


def test_the_steps_of_the_chain_multiply_to_the_whole(whole):
    total, *steps = rows_of(whole, "waterfall", scenario="code@1")
    assert (total["against"], total["arm"]) == ("plain", "drafter")
    assert np.prod([row["ratio"] for row in steps]) == pytest.approx(total["ratio"])
    assert sum(row["share"] for row in steps) == pytest.approx(1)


def test_a_whole_that_may_be_nothing_has_no_parts(whole):
    measured = measured_of(whole)
    cells = measured.usable.copy()
    again = cells["arm"].eq("drafter")
    plain = cells[cells["arm"].eq("plain")].set_index(["scenario", "seed"])["output_rate"]
    places = pd.MultiIndex.from_frame(cells.loc[again, ["scenario", "seed"]])
    turn = [1.02, 0.99, 1.0] * (again.sum() // 3)
    cells.loc[again, "output_rate"] = plain.loc[places].to_numpy() * turn
    measured.__dict__["usable"] = cells
    rows = list(chain(measured))
    assert rows and {row["share"] for row in rows} == {None}


def test_parts_are_not_told_from_one_start(tmp_path):
    folder = SyntheticStudy(**WHOLE, seeds=[1]).write(tmp_path)
    assert {row["share"] for row in rows_of(folder, "waterfall")} == {None}


def test_a_step_of_several_factors_says_what_else_changed(whole):
    plan = json.loads((whole / "plan.json").read_text("utf-8"))
    plan["arms"]["drafter"]["serve"]["request_slots"] = 32
    rows = list(chain(Measured(plan, whole / "tables", whole.parents[1])))
    step = next(row for row in rows if row["arm"] == "drafter" and row["step"] == 2)
    assert step["factors"] == "slots, speculation" and not step["clean"]
    assert "serve.request_slots: 16 → 32" in step["changes"]
    assert all(row["clean"] for row in rows if row["step"] == 1)
    assert any("speculation.draft_tokens: not set → " in row["changes"] for row in rows)
    assert not any(word in row["changes"] for row in rows for word in ("None", "drafter.name"))


def test_the_sweep_is_held_against_the_arm_that_it_varies_and_sorted_by_effect(whole):
    rows = rows_of(whole, "sweep", scenario="essays@4")
    assert {row["against"] for row in rows} == {"ngram"}
    sizes = [abs(np.log(row["effect"])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert all(0 < row["noise"] < 0.1 for row in rows)
    short = next(row for row in rows if row["arm"] == "short")
    assert short["changes"] == "speculation.draft_tokens: 5 → 3"


def test_a_swept_arm_on_another_engine_stands_beside_that_engines_plain_decoding(whole):
    measured = measured_of(whole)
    arms = measured.plan["arms"]
    for arm, like in (("short", "plain"), ("scheduled", "ngram")):
        arms[arm] = json.loads(json.dumps(arms[like])) | {"engine_name": "another"}
    measured.plan["roles"] = {"reference": "plain", "sweep": ["short", "scheduled", "ngram"]}
    rows = {row["arm"]: row for row in sweep(measured) if row["scenario"] == "essays@4"}
    assert {arm: row["against"] for arm, row in rows.items()} == {
        "short": "plain",
        "scheduled": "short",
        "ngram": "plain",
    }
    assert "engine_name" not in rows["scheduled"]["changes"]
    rate = measured.values("output_rate", ["scheduled", "short"], ["essays@4"])[:, 0]
    assert rows["scheduled"]["effect"] == pytest.approx(
        np.exp(np.nanmean(np.log(rate[0]) - np.log(rate[1])))
    )


# Arms that ask a question of their own


def contrasts_of(folder: Path, change: Callable[[dict], object]) -> dict[tuple[str, str], dict]:
    """The pairs by question and arm, after a change of the arms' specs."""
    measured = measured_of(folder)
    change(measured.plan["arms"])
    return {(row["question"], row["arm"]): row for row in contrasts(measured)}


def test_arms_that_differ_from_a_role_in_one_thing_ask_what_it_did(whole):
    found = contrasts_of(whole, lambda arms: None)
    assert {key: (row["against"], row["before"], row["after"]) for key, row in found.items()} == {
        ("engine", "elsewhere"): ("drafter", "vllm-0.32.0-cpu", "other-engine"),
        ("target precision", "fp8-target"): ("drafter", "BF16", "FP8"),
        ("drafter precision", "fp8-drafter"): ("drafter", "BF16", "fp8_per_tensor"),
    }
    assert all(row["clean"] and row["others"] is None for row in found.values())


def test_another_program_may_bring_flags_of_its_own_and_says_so(whole):
    found = contrasts_of(whole, lambda arms: arms["elsewhere"]["serve"].update(request_slots=4))
    row = found["engine", "elsewhere"]
    assert row["others"] == "slots" and not row["clean"]
    assert row["changes"] == "serve.request_slots: 16 → 4"


@pytest.mark.parametrize(("source", "asked"), [("the same file", True), ("another file", False)])
def test_another_program_may_read_the_same_file_in_another_format(whole, source, asked):
    def converted(arms: dict) -> None:
        for arm, own in (("drafter", "the same file"), ("elsewhere", source)):
            checkpoint = {"model": None, "precision": None, "source": own, "convert": arm}
            arms[arm]["target"] |= {"name": arm, "checkpoint": checkpoint}

    assert (("engine", "elsewhere") in contrasts_of(whole, converted)) == asked


def test_arms_of_the_sweep_ask_nothing_here(whole):
    def like_short(arms: dict) -> None:
        arms["short"] |= {"engine_name": "other-engine", "engine": arms["elsewhere"]["engine"]}

    assert ("engine", "short") not in contrasts_of(whole, like_short)


def test_another_version_has_to_be_all_that_differs(whole):
    def newer(arms: dict) -> None:
        arms["elsewhere"]["engine"]["adapter"] = "vllm"

    def newer_with_slots(arms: dict) -> None:
        newer(arms)
        arms["elsewhere"]["serve"]["request_slots"] = 4

    assert ("engine", "elsewhere") in contrasts_of(whole, newer)
    assert ("engine", "elsewhere") not in contrasts_of(whole, newer_with_slots)


@pytest.mark.parametrize("arm", ["elsewhere", "fp8-target", "fp8-drafter"])
def test_an_arm_that_drafts_in_another_way_asks_none_of_these(whole, arm):
    found = contrasts_of(whole, lambda arms: arms[arm]["speculation"].update(method="mtp"))
    assert arm not in {asked for _, asked in found}


def test_another_model_is_no_other_precision(whole):
    def other_model(arms: dict) -> None:
        arms["fp8-target"]["target"]["checkpoint"]["model"] = "another"

    assert ("target precision", "fp8-target") not in contrasts_of(whole, other_model)


# Under load


def test_requests_beyond_the_slots_queue(tmp_path):
    folder = SyntheticStudy(workloads={"essays": [1, 8]}, slots=2).write(tmp_path)
    alone, crowd = (rows_of(folder, "waits", arm="plain", scenario=f"essays@{n}") for n in (1, 8))
    assert alone[0]["queueing"] == 0
    assert crowd[0]["slots"] == 2 and crowd[0]["queueing"] > 0.8


def test_arms_that_change_places_cross_between_the_levels_of_the_change(fresh):
    rewrite(
        fresh / "tables/cells.parquet",
        "output_rate",
        lambda row: (
            row["output_rate"]
            * (0.5 if (row["arm"], row["scenario"]) == ("drafter", "essays@4") else 1)
        ),
    )
    row = next(row for row in crossings(measured_of(fresh)) if row["against"] == "plain")
    assert 1 < row["streams_low"] <= row["streams"] <= row["streams_high"] < 4
    assert row["leads"] == "drafter"


def test_a_schedule_is_recommended_from_static_arms_and_held_against_the_one_served(whole):
    recommended = rows_of(whole, "schedules", series="essays")
    assert recommended[0]["arms"] == "ngram, short" and recommended[-1]["last"] == 4
    served = rows_of(whole, "scheduled", arm="scheduled")
    assert [row["draft_tokens"] for row in served] == [5, 3]
    rates = rates_of(whole)
    assert served[0]["promised"] == rates["ngram", "essays@1"]
    assert served[1]["promised"] == rates["short", "essays@4"]


# The bill, the limit, the drift


def test_a_drafter_costs_what_the_same_arm_without_it_holds_beyond(study):
    row = rows_of(study, "capacity", arm="drafter")[0]
    assert row["against"] == "plain" and (row["kv_cost"], row["kv_share"]) == (24_000, 0.2)
    plain = rows_of(study, "capacity", arm="plain")[0]
    assert plain["against"] is None and plain["kv_cost"] is None


def test_the_first_start_of_an_engine_is_its_cold_one(study):
    sessions = pq.read_table(study / "tables/sessions.parquet").to_pandas()
    row = rows_of(study, "startups")[0]
    ordered = sessions.sort_values("started_at")["ready_after"]
    assert row["cold"] == ordered.iloc[0]
    assert row["warm"] == pytest.approx(ordered.iloc[1:].mean())


def test_plain_decoding_may_reach_what_its_bytes_allow(study):
    row = rows_of(study, "limit", arm="plain", scenario="code@1")[0]
    assert row["limit"] == pytest.approx(row["bandwidth"] / row["step_gigabytes"])
    assert row["step_gigabytes"] * 1e9 > WEIGHTS["body"] + WEIGHTS["head"]
    drafter = rows_of(study, "limit", arm="drafter", scenario="code@1")[0]
    assert drafter["step_gigabytes"] > row["step_gigabytes"]
    assert drafter["reached"] == pytest.approx(drafter["rate"] / drafter["limit"])


def test_a_copy_goes_before_what_is_stated_and_both_are_told(fresh):
    facts = fresh.parents[1] / "config/facts.yaml"
    facts.write_text(BANDWIDTH, encoding="utf-8")
    row = next(iter(limit(measured_of(fresh))))
    assert (row["bandwidth"], row["stated"]) == (12, 900)
    measured = measured_of(fresh)
    measured.sessions["host"] = [{}] * len(measured.sessions)
    row = next(iter(limit(measured)))
    assert (row["bandwidth"], row["bandwidth_from"]) == (900, "nobody")


def test_a_bandwidth_in_terabytes_is_read_as_such(fresh):
    facts = fresh.parents[1] / "config/facts.yaml"
    facts.write_text(BANDWIDTH.replace("GB/s", "TB/s"), encoding="utf-8")
    assert next(iter(limit(measured_of(fresh))))["stated"] == 900_000


def test_a_copy_in_the_hosts_memory_says_nothing_of_a_card(study):
    measured = measured_of(study)
    for arm in measured.plan["arms"].values():
        arm["engine"]["device"] = "cuda"
    assert list(limit(measured)) == []


def test_the_reference_is_measured_again_at_the_end_and_compared_with_its_first(whole):
    row = rows_of(whole, "drift")[0]
    cells = pq.read_table(whole / "tables/cells.parquet").to_pandas()
    own = cells[cells["cell"].isin(row["cells"])].sort_values("window_start")
    assert own["arm"].tolist() == ["plain", "drift-control"]
    assert row["ratio"] == pytest.approx(row["again"] / row["first"]) and row["hours"] > 1


def test_the_drift_control_is_no_arm_of_the_argument(whole):
    for table in ("estimates", "comparisons", *ARGUMENTS):
        rows = rows_of(whole, table)
        assert "drift-control" not in {row.get("arm") for row in rows}, table
