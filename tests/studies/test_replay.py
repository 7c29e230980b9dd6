"""Replay: without a card, the article of a published study stands on the published figures."""

import json
import re
import subprocess
import sys

import pytest

from specdock.plan.resolve import resolve
from tests.workflow.clone import clone, planned_jobs

ARGUMENTS = ("article", "--config", "study=one-card", "replay=true")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    root = clone(tmp_path_factory.mktemp("replay"))
    jobs = planned_jobs(root, *ARGUMENTS)
    assert not jobs.keys() & {"measure", "grade", "pin", "fetch", "environment_marker"}
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *ARGUMENTS]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root / "results/one-card/article"


def numbers(article) -> list[dict]:
    return json.loads((article / "numbers.json").read_text(encoding="utf-8"))["numbers"]


def test_published_figures_lead_to_their_source_line(replayed):
    published = {n["id"]: n for n in numbers(replayed) if n["kind"] == "published"}
    served = published["published/one-card/table-one-stream/code/dflash2-fp8-served"]
    assert served["printed"] == "303.3 tok/s"
    assert served["cited"] == "000_b1b66b56a4972115.txt, line 42"
    assert served["source"]["file"] == "config/published/one-card.yaml"
    assert len(published) > 100
    page = (replayed / "article.md").read_text(encoding="utf-8")
    assert all(f"[{number['printed']}](#n" in page for number in published.values())


def test_the_articles_tables_stand_on_the_page_with_their_own_rows_and_columns(replayed):
    page = (replayed / "article.md").read_text(encoding="utf-8")
    table = page.partition("### essays, aggregate tok/s\n\n")[2].partition("\n\n")[0].splitlines()
    assert table[0] == "| | c=1 | c=8 | c=32 |"
    cells = {row.split(" | ")[0]: re.findall(r"\[([\d.,]+) tok/s\]\(#n", row) for row in table[2:]}
    assert len(cells) == 6
    assert cells["| MTP, memory-matched, 32 slots (0.27.1)"] == ["101.3", "672.2", "1,545.9"]


def test_a_study_without_a_session_does_not_speak_of_starts(replayed):
    page = (replayed / "article.md").read_text(encoding="utf-8")
    assert "Nothing of it was measured here" in page
    assert "started afresh" not in page


def test_no_number_of_the_page_claims_a_measurement(replayed):
    measured = [n for n in numbers(replayed) if n["kind"] in ("estimate", "ratio")]
    claims = [n for n in numbers(replayed) if n["kind"] == "claim"]
    assert measured and claims
    assert [n["id"] for n in measured + claims if n["value"] is not None or n["raw"]] == []


def test_a_session_that_is_there_is_the_only_one_that_counts(tmp_path):
    root = clone(tmp_path)
    plan = resolve(root, "one-card")
    arm, seed, fp = plan.sessions[0].key
    pack = f"results/one-card/raw/{arm}/seed-{seed}/{fp}"
    names = [f"{pack}/{name}.parquet" for name in ("requests", "metrics", "power")]
    names += [f"{pack}/manifest.json", f"{pack}/server.log"]
    names += [f"results/one-card/specs/{arm}/seed-{seed}.{fp}.json"]
    names += [
        f"results/pins/{pin}.{kind}.json" for pin in plan.pins for kind in ("lock", "receipt")
    ]
    names += [f"results/environments/{engine}.json" for engine in plan.environments]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    jobs = planned_jobs(root, *ARGUMENTS)
    assert jobs["grade"] == 1
    assert not jobs.keys() & {"measure", "pin", "fetch", "environment_marker"}
