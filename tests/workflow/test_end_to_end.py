"""From config to article with the real engine on the processor, then audited and left alone."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.workflow.clone import ROOT, clone

STUDY = """
extends: demo
title: A tiny study on a real engine
seeds: [1]
arms:
  mtp-0.27.1: null
  mtp: null
  dflash-schedule: null
  draft-model: null
  ngram: null
  llama-cpp: null
roles: {incumbent: null, matched: null, control: null, sweep: null}
chain: []
drift_control: null
gates:
  - {arm: dflash, against: plain, metric: output_rate, scenario: essays@2, at_least: -99%}
scenarios:
  - {workload: essays, streams: 2, requests: 2, max_tokens: 24, thinking: false}
  - {workload: humaneval, streams: 1, requests: 1, max_tokens: 48, grade: humaneval}
"""


def snakemake(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    done = subprocess.run(
        [*command, "--config", "study=tiny"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A clone in which the article of the tiny study was made; engines are built only once."""
    root = clone(tmp_path_factory.mktemp("clone"))
    for shared in (".envs", "resources"):
        (ROOT / shared).mkdir(exist_ok=True)
        (root / shared).symlink_to(ROOT / shared)
    (root / "config/studies/tiny.yaml").write_text(STUDY)
    snakemake(root, "article")
    return root


def test_the_article_states_what_was_measured(finished):
    cells = pq.read_table(finished / "results/tiny/tables/cells.parquet").to_pylist()
    assert {(cell["arm"], cell["scenario"]) for cell in cells} == {
        (arm, scenario) for arm in ("plain", "dflash") for scenario in ("essays@2", "humaneval@1")
    }
    for cell in cells:
        assert cell["output_rate"] > 0 and cell["ttft_median"] > 0
        assert cell["completion_tokens"] <= cell["requests"] * 48
        assert "third-party-engine" in cell["remarks"]
    drafted = {cell["arm"]: cell["draft_tokens"] for cell in cells}
    assert drafted["dflash"] > 0 and not drafted["plain"]
    page = (finished / "results/tiny/article/article.html").read_text()
    ledger = json.loads((finished / "results/tiny/article/numbers.json").read_text())
    assert "A tiny study on a real engine" in page
    assert len(ledger["numbers"]) > 20


def test_no_path_of_this_machine_is_in_the_results(finished):
    private = [f"{folder}/".encode() for folder in (finished, Path.home())]
    for path in (finished / "results").rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            content = path.read_bytes()
            assert not [folder for folder in private if folder in content], path


def test_a_second_call_has_nothing_to_do(finished):
    assert "Nothing to be done" in (done := snakemake(finished, "article")).stdout + done.stderr
