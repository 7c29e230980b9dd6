"""Tables of the argument, from invented studies whose answers are known."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY
from synthetic_study import SyntheticStudy

from specdock.claims.accuracy import share_difference
from specdock.claims.arguments import ARGUMENTS
from specdock.claims.arguments.measured import Measured
from specdock.claims.build import build_claims


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


def claims_again(folder: Path) -> None:
    measured = measured_of(folder)
    build_claims(measured.plan, measured.tables, measured.root, folder / "claims")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return SyntheticStudy(unusable=None, not_run=None).write(tmp_path)


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


def test_a_prompt_that_a_start_did_not_answer_is_left_out_of_every_start(study):
    rewrite(
        study / "tables/requests.parquet",
        "error",
        lambda row: (
            "lost" if (row["arm"], row["seed"], row["request"]) == ("plain", 2, 0) else None
        ),
    )
    claims_again(study)
    assert rows_of(study, "accuracy", arm="plain")[0]["prompts"] == 11
    assert rows_of(study, "accuracy", arm="drafter")[0]["prompts"] == 12
    assert rows_of(study, "accuracy_pairs", arm="drafter", against="plain")[0]["prompts"] == 11


def test_an_arm_that_changes_its_text_is_less_repeatable_than_plain_decoding(tmp_path):
    folder = SyntheticStudy(outcome="loses").write(tmp_path)
    row = rows_of(folder, "losslessness", arm="drafter", scenario="essays@1")[0]
    assert row["verdict"] == "worse" and row["same"] < 0.6 < row["control"]
    assert row["compared_as"] == "characters"


def test_an_arm_that_differs_as_plain_starts_do_is_not_called_worse(study):
    verdicts = {row["verdict"] for row in rows_of(study, "losslessness")}
    assert verdicts <= {"undecided", "equivalent"}


def test_token_ids_are_compared_where_the_engine_gives_them(study):
    for file in study.glob("raw/*/*/*/requests.parquet"):
        last = int(file.parts[-4] == "drafter")
        rewrite(file, "token_ids", lambda row, last=last: [7, 8, row["request"], last])
    claims_again(study)
    row = rows_of(study, "losslessness", arm="drafter", scenario="code@1")[0]
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
