"""The comparison of clients, and its recomputation by other code."""

import gzip
import hashlib
import json
import math
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from specdock.clients.contract import ClientFailed
from specdock.peers.table import COMPARED, PEERS, build_peers
from specdock.plan.resolve import resolve
from specdock.plan.spec import PeersSpec
from specdock.workloads.prompts import Prompt
from tests.peers.cross_check import write_cross_check
from verification.clients import check_peers
from verification.study import BrokenLink, Study

ROOT = Path(__file__).parents[2]
BAND = {"output_rate": 0.05, "ttft_median": 0.1, "tpot_median": 0.05}


@cache
def resolved() -> PeersSpec:
    return resolve(ROOT, "cross-check").peers


@pytest.fixture
def study(tmp_path) -> Path:
    """A study that holds a cross-check of invented answers and its table."""
    folder = tmp_path / "results/checked"
    raw = folder / "peers/invented"
    spec = resolved()
    prompts = [Prompt(f"p{i}", [{"role": "user", "content": f"Say {i}."}]) for i in range(8)]
    write_cross_check(spec, prompts, raw)
    plan = {"band": BAND, "peers": {"fingerprint": "invented", "rounds": spec.rounds}}
    (folder / "plan.json").write_text(json.dumps(plan))
    build_peers(plan, raw / "manifest.json", tmp_path, folder / "claims/peers.parquet")
    return folder


def table(study: Path) -> list[dict]:
    return pq.read_table(study / "claims/peers.parquet").to_pylist()


def test_every_client_has_a_row_a_metric_with_its_interval_and_definition(study):
    rows = table(study)
    clients = {row["client"] for row in rows}
    assert len(rows) == len(clients) * len(COMPARED) and len(clients) == 3
    for row in rows:
        assert row["low"] <= row["ratio"] <= row["high"]
        assert row["ratio"] == pytest.approx(row["theirs"] / row["ours"])
        assert row["within_noise"] == (row["low"] <= 1 <= row["high"])
        assert row["their_definition"] and row["files"]


def test_a_difference_of_clients_is_told_from_noise(study):
    rows = {(row["client"], row["metric"]): row for row in table(study)}
    assert all(rows["aiperf-0.13.0", metric]["within_noise"] for metric in COMPARED)
    late = rows["vllm-bench-0.32.0", "ttft_median"]
    assert not late["within_noise"] and late["verdict"] == "higher"
    assert late["ratio"] == pytest.approx(1.3, rel=0.02)
    assert rows["vllm-bench-0.32.0", "tpot_median"]["verdict"] == "equivalent"
    assert rows["sglang-0.5.23", "output_rate"]["verdict"] == "lower"


def test_other_code_comes_to_the_same_table(study):
    assert "follow from their exports" in "".join(check_peers(Study(study)))


@pytest.mark.parametrize("column", ["theirs", "high", "verdict", "within_noise"])
def test_a_changed_value_of_the_table_is_found(study, column):
    rows = table(study)
    value = rows[0][column]
    rows[0][column] = {float: math.nextafter(1.0, 2) + 1.0, str: "same", bool: not value}[
        type(value)
    ]
    pq.write_table(pa.Table.from_pylist(rows, PEERS), study / "claims/peers.parquet")
    with pytest.raises(BrokenLink, match=column):
        list(check_peers(Study(study)))


def edit_lines(path: Path, change) -> None:
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    change(rows)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def reseal(study: Path) -> None:
    """Someone who changes a file and its hash in the manifest."""
    raw = study / "peers/invented"
    manifest = json.loads((raw / "manifest.json").read_text())
    manifest["files"] = {
        name: hashlib.sha256((raw / name).read_bytes()).hexdigest() for name in manifest["files"]
    }
    (raw / "manifest.json").write_text(json.dumps(manifest))


def test_a_changed_export_is_found_by_its_hash(study):
    export = study / "peers/invented/round-1/vllm-bench-0.32.0/bench.json"
    export.write_text(export.read_text().replace("{", "{ ", 1))
    with pytest.raises(BrokenLink, match=r"bench\.json: sha256"):
        list(check_peers(Study(study)))


def test_a_summary_that_does_not_follow_from_its_requests_is_found(study):
    summary = study / "peers/invented/round-1/aiperf-0.13.0/profile_export_aiperf.json"
    told = json.loads(summary.read_text())
    told["time_to_first_token"]["p50"] *= 0.9
    summary.write_text(json.dumps(told))
    reseal(study)
    with pytest.raises(BrokenLink, match="reports ttft_median"):
        list(check_peers(Study(study)))


def test_a_client_that_did_other_work_is_not_compared(study, tmp_path):
    raw = study / "peers/invented"
    edit_lines(
        raw / "round-2/sglang-0.5.23/bench.jsonl.gz", lambda rows: rows[0].update(completed=1)
    )
    plan = json.loads((study / "plan.json").read_text())
    with pytest.raises(ClientFailed, match=r"round 2: sglang-0\.5\.23 reports 1 requests"):
        build_peers(plan, raw / "manifest.json", tmp_path, study / "claims/peers.parquet")
