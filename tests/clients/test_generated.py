"""Cells that another client measures: its requests become rows, its export is kept."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from specdock.clients import CLIENTS, GENERATORS
from specdock.environments.build import BuiltEnvironment
from specdock.environments.fingerprint import environment_fingerprint
from specdock.plan.fingerprint import sha256_of
from specdock.plan.load import load_clients
from specdock.plan.spec import ClientSpec, SessionSpec
from specdock.runs import generated
from specdock.runs import measure as job
from specdock.runs.generated import measure_generated
from specdock.runs.ledger import Ledger
from specdock.runs.progress import Progress
from specdock.runs.session import SessionFailed, missing_cells
from tests.clients.small_client import SmallClient
from tests.runs.test_session import StandIn, bench, spec  # noqa: F401 (a fixture)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def by_another(spec, monkeypatch) -> SessionSpec:  # noqa: F811
    """The session whose last cell is measured by a client that is not ours."""
    monkeypatch.setitem(CLIENTS, "aiperf", SmallClient())
    monkeypatch.setitem(GENERATORS, "aiperf", SmallClient())
    none = BuiltEnvironment(ROOT / "python", {"small": "1"}, "0" * 64)
    monkeypatch.setattr(generated, "environment_of", lambda client, root: none)
    return generated_by(spec, {})


def generated_by(spec, flags) -> SessionSpec:  # noqa: F811
    entry = load_clients(ROOT)["aiperf-0.13.0"]
    client = ClientSpec(name="other", client=entry, environment="0", code="0", flags=flags)
    *others, last = spec.cells
    scenario = last.scenario.model_copy(update={"load_generator": client})
    return spec.model_copy(
        update={"cells": [*others, last.model_copy(update={"scenario": scenario})]}
    )


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return Ledger(tmp_path / "ledger")


def measure(tmp_path, spec, ledger, **behaviour):  # noqa: F811
    missing = missing_cells(spec, ledger)
    with Progress("ngram", 1, len(spec.cells), len(missing), tmp_path / "log") as progress:
        job._measure(spec, missing, ledger, bench(tmp_path, StandIn(**behaviour), progress))


def test_its_requests_are_rows_and_its_export_is_packed_and_restored(tmp_path, by_another, ledger):
    measure(tmp_path, by_another, ledger)
    assert missing_cells(by_another, ledger) == []
    pack = tmp_path / "packs/one"
    packed = ledger.pack([cell.fingerprint for cell in by_another.cells], pack)
    (pack / "manifest.json").write_text(json.dumps(packed))
    assert len(packed["sessions"]) == 2  # ours and the other client's
    facts = packed["cells"][-1]
    assert facts["client_cpu"] is None and facts["loop_lag"] is None
    assert facts["load_generator"]["name"] == "other"
    assert facts["load_generator"]["packages"] == {"small": "1"}
    first, last = facts["rows"]
    rows = pq.read_table(pack / "requests.parquet").to_pylist()[first : last + 1]
    warm = [row for row in rows if row["phase"] == "warmup"]
    measured = [row for row in rows if row["phase"] == "measured"]
    scenario = by_another.cells[-1].scenario
    assert (len(warm), len(measured)) == (scenario.warmups, scenario.requests)
    assert all(row["t_end"] < 0 for row in warm)  # before the client's first request
    assert all(row["t_send"] >= 0 and row["text"] and row["token_ids"] == [] for row in measured)
    assert facts["wall"] == max(row["t_end"] for row in measured)
    export = pack / "exports" / facts["cell"] / "export.jsonl.gz"
    elsewhere = Ledger(tmp_path / "clone")
    elsewhere.restore(tmp_path / "packs", {facts["cell"]})
    elsewhere.pack([facts["cell"]], tmp_path / "packs/two")
    again = tmp_path / "packs/two/exports" / facts["cell"] / "export.jsonl.gz"
    assert sha256_of(export) == sha256_of(again)


def test_a_client_that_asks_more_than_it_was_given_is_not_believed(tmp_path, by_another, ledger):
    twice = generated_by(by_another, {"--times": 2})
    with pytest.raises(SessionFailed, match="tells of 8 requests, 4 of them different; it was"):
        measure(tmp_path, twice, ledger)
    assert [c.scenario.id for c in missing_cells(twice, ledger)] == [twice.cells[-1].scenario.id]


def test_a_failure_of_one_kind_does_not_keep_the_other_from_being_measured(
    tmp_path, by_another, ledger, monkeypatch
):
    def fails(*_):
        raise SessionFailed("ours failed")

    monkeypatch.setattr(job, "measure_missing", fails)
    with pytest.raises(SessionFailed, match=r"^ours failed$"):
        measure(tmp_path, by_another, ledger)
    assert ledger.has(by_another.cells[-1].fingerprint)


def test_the_real_aiperf_measures_a_cell(tmp_path, spec, ledger):  # noqa: F811
    entry = load_clients(ROOT)["aiperf-0.13.0"]
    home = f"aiperf-0.13.0.{environment_fingerprint(entry.environment, ROOT)}"
    targets = list((ROOT / "resources").glob("smollm2-135m-instruct.*/tokenizer.json"))
    if not (ROOT / ".envs" / home / "bin/python").exists() or not targets:
        pytest.skip("neither the environment of AIPerf nor a tokenizer is here")
    for name in (".envs", "envs"):
        (tmp_path / name).symlink_to(ROOT / name)
    by_aiperf = generated_by(spec, {"--tokenizer": str(targets[0].parent)})
    client = by_aiperf.cells[-1].scenario.load_generator.model_copy(
        update={"name": "aiperf-0.13.0"}
    )
    scenario = by_aiperf.cells[-1].scenario.model_copy(update={"load_generator": client})
    cell = by_aiperf.cells[-1].model_copy(update={"scenario": scenario})
    with Progress("ngram", 1, 1, 1, tmp_path / "log") as progress:
        own = bench(tmp_path, StandIn(interval=0.01), progress)
        body = own.adapter.body
        own.adapter.body = lambda arm, scenario: body(arm, scenario) | {"return_token_ids": True}
        measure_generated(by_aiperf, [cell], ledger, replace(own))
    rows = [r for r in ledger.read(cell.fingerprint).requests.to_pylist() if r["phase"] != "warmup"]
    assert [row["completion_tokens"] for row in rows] == [12] * scenario.requests
    assert all(row["token_ids"] == list(range(1000, 1012)) for row in rows)
