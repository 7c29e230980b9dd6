import html
import json
import re
from hashlib import sha256

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY, rendered
from synthetic_study import SyntheticStudy

from specdock.article.ledger import NUMBERS
from specdock.article.study import ranges


@pytest.fixture(scope="module")
def rows(won):
    return json.loads((won.out / "numbers.json").read_bytes())["numbers"]


def test_the_page_prints_exactly_what_the_ledger_holds(won, rows):
    printed = {row["id"]: row["printed"] for row in rows}
    found = re.findall(r'<a class="n [^>]*data-n="([^"]+)"[^>]*>(.*?)</a>', won.page)
    assert len(found) > 150
    shown = {html.unescape(key): html.unescape(re.sub("<[^>]*>", "", text)) for key, text in found}
    assert shown == printed


def test_parquet_and_json_hold_the_same_rows_under_a_documented_schema(won, rows):
    table = pq.read_table(won.out / "numbers.parquet")
    assert table.schema.equals(NUMBERS)
    assert table.to_pylist() == rows
    assert all(field.metadata[b"description"] for field in table.schema)


def test_every_hash_is_that_of_the_file(won, rows):
    links = [link for row in rows for link in (row["source"], *row["tables"], *row["raw"])]
    stated = {(link["file"], link["sha256"]) for link in links}
    assert len(stated) > 15
    for file, digest in stated:
        assert sha256((won.root / file).read_bytes()).hexdigest() == digest, file


def test_a_measured_number_leads_to_its_raw_rows(won, rows):
    row = next(row for row in rows if row["id"] == "output_rate/drafter/essays@4")
    assert [link["file"].split("/")[-1] for link in row["tables"]] == ["cells.parquet"]
    assert len(row["tables"][0]["rows"]) == len(row["raw"]) == 3
    for link in row["raw"]:
        first, last = map(int, link["rows"][0].split("-"))
        raw = pq.read_table(won.root / link["file"]).slice(first, last - first + 1).to_pylist()
        assert {(r["arm"], r["scenario"]) for r in raw} == {("drafter", "essays@4")}
    assert sum(len(link["rows"]) for link in row["raw"]) == 3


def test_every_link_names_its_rule_with_file_and_line(rows):
    for row in rows:
        made = {link["makes"]: link for link in row["rules"]}
        for link in (row["source"], *row["tables"], *row["raw"]):
            assert made[link["file"]]["file"] == "rules/all.smk"
            assert made[link["file"]]["line"] >= 1
    row = next(row for row in rows if row["kind"] == "estimate" and row["raw"])
    assert {link["rule"] for link in row["rules"]} == {"claims", "tables", "measure"}


def test_a_measured_number_carries_session_lock_and_pins(rows):
    row = next(row for row in rows if row["id"] == "output_rate/drafter/essays@4")
    assert row["engines"] == ["0.32.0+cpu"]
    assert row["targets"][0].startswith("tiny-target.")
    assert row["drafters"][0].startswith("tiny-drafter.")
    assert len(row["locks"][0]) == 64
    assert row["sessions"] == [f"drafter.seed-{seed}" for seed in (1, 2, 3)]
    assert row["synthetic"] and not row["dirty"]


def test_a_number_knows_the_template_lines_that_print_it(rows):
    row = next(row for row in rows if row["id"] == "count/requests")
    (place,) = row["places"]
    lines = (REPOSITORY / place["template"]).read_text(encoding="utf-8").splitlines()
    assert 'count("requests")' in lines[place["line"] - 1]
    row = next(row for row in rows if row["id"] == "tpot_median/ngram/code@1/with_interval")
    (place,) = row["places"]
    lines = (REPOSITORY / place["template"]).read_text(encoding="utf-8").splitlines()
    assert "scenario_tables(scenarios" in lines[place["line"] - 1]


def test_the_printed_text_follows_from_the_exact_value(rows):
    checked = 0
    for row in rows:
        if row["shape"] == "value" and row["value"] is not None:
            shown = (row["value"] - row["offset"]) * row["scale"]
            assert f"{abs(shown):,.{row['digits']}f}" in row["printed"], row["id"]
            checked += 1
    assert checked > 60


def test_notes_count_from_the_top_of_the_page(rows):
    assert [row["note"] for row in rows] == list(range(1, len(rows) + 1))


def test_an_uncommitted_change_marks_every_number_that_it_touched(tmp_path):
    article = rendered(tmp_path, SyntheticStudy(dirty="d" * 64, seeds=[1]))
    rows = json.loads((article.out / "numbers.json").read_bytes())["numbers"]
    assert all(row["dirty"] for row in rows if row["sessions"])


def test_row_numbers_become_ranges():
    assert ranges(np.array([3, 1, 2, 9, 11, 10, 20])) == "1-3, 9-11, 20"
    assert ranges(np.array([], int)) == ""
