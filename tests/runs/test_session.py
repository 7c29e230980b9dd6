"""One session from engine start to packed files, with a stand-in engine that can misbehave."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from specdock.engines.contract import Placed, chat_body
from specdock.errors import SpecdockError
from specdock.plan.resolve import resolve
from specdock.plan.spec import SessionSpec
from specdock.runs.ledger import Ledger
from specdock.runs.power import sampler
from specdock.runs.progress import Progress
from specdock.runs.server import EngineFailed
from specdock.runs.session import Bench, SessionFailed, measure_missing, missing_cells
from specdock.workloads.prompts import Prompt
from tests.plan.repository import write_repository

ROOT = Path(__file__).parents[2]


class StandIn:
    """An adapter whose engine is the stand-in server, behaving as told."""

    health = "/health"
    metrics = "/metrics"
    identity = ("/version", "/nowhere")
    reset = ("/reset_prefix_cache",)

    def __init__(self, **behaviour: object):
        self.behaviour = behaviour

    def command(self, arm, placed, port):
        server = [sys.executable, "-m", "tests.stand_ins.openai_server"]
        return [*server, "--port", str(port), "--behaviour", json.dumps(self.behaviour)]

    def variables(self, arm, placed):
        return {"PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"}

    def body(self, arm, scenario):
        return chat_body(scenario)


@pytest.fixture
def spec(tmp_path) -> SessionSpec:
    """Two scenarios at one stream, one at four; the counters are the stand-in's."""
    root = write_repository(tmp_path / "repository")
    session = next(s for s in resolve(root, "tiny").sessions if s.spec.arm.name == "ngram")
    engine = session.spec.arm.engine.model_copy(
        update={"counters": {"generation_tokens": "vllm:generation_tokens_total"}}
    )
    arm = session.spec.arm.model_copy(update={"engine": engine, "ready_timeout": 20})
    return session.spec.model_copy(update={"arm": arm})


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return Ledger(tmp_path / "ledger")


def bench(tmp_path: Path, adapter: StandIn, progress: Progress) -> Bench:
    prompts = [Prompt(f"p{i}", [{"role": "user", "content": f"Say {i}."}]) for i in range(20)]
    return Bench(
        root=tmp_path,
        adapter=adapter,
        placed=Placed(Path(sys.executable), Path("target"), None, Path("cache")),
        prompts=lambda cell: prompts,
        bfcl=lambda cell, project: pytest.fail("no cell here is asked by BFCL"),
        facts={"commit": "", "patch": "", "dirty": "", "gpu": {}, "host": {}, "lock_sha256": ""},
        power=sampler,
        progress=progress,
    )


def measure(tmp_path: Path, spec: SessionSpec, ledger: Ledger, **behaviour: object) -> None:
    missing = missing_cells(spec, ledger)
    with Progress("ngram", 1, len(spec.cells), len(missing), tmp_path / "log") as progress:
        measure_missing(spec, missing, ledger, bench(tmp_path, StandIn(**behaviour), progress))


def test_a_session_is_measured_packed_and_restored(tmp_path, spec, ledger):
    measure(tmp_path, spec, ledger)
    assert missing_cells(spec, ledger) == []
    pack = tmp_path / "packs/one"
    packed = ledger.pack([cell.fingerprint for cell in spec.cells], pack)
    (pack / "manifest.json").write_text(json.dumps(packed))
    rows = pq.read_table(pack / "requests.parquet").to_pylist()
    for cell, wanted in zip(packed["cells"], spec.cells, strict=True):
        first, last = cell["rows"]
        own = rows[first : last + 1]
        assert {row["cell"] for row in own} == {wanted.fingerprint}
        measured = [row for row in own if row["phase"] == "measured"]
        assert len(measured) == wanted.scenario.requests
        assert len({row["prompt_id"] for row in measured}) == wanted.scenario.requests
        assert cell["wall"] == pytest.approx(max(row["t_end"] for row in measured))
    (session,) = packed["sessions"]
    assert session["identity"]["/version"] and session["identity"]["/nowhere"] is None
    assert str(tmp_path) not in (pack / "server.log").read_text()

    elsewhere = Ledger(tmp_path / "clone")
    elsewhere.restore(tmp_path / "packs", {cell.fingerprint for cell in spec.cells[:2]})
    assert len(missing_cells(spec, elsewhere)) == len(spec.cells) - 2
    again = elsewhere.pack([cell.fingerprint for cell in spec.cells[:2]], tmp_path / "packs/two")
    assert [c["wall"] for c in again["cells"]] == [c["wall"] for c in packed["cells"][:2]]


def test_a_cell_is_not_measured_on_caches_that_were_not_emptied(
    tmp_path, spec, ledger, monkeypatch
):
    monkeypatch.setattr(StandIn, "reset", ("/no_such_reset",))
    with pytest.raises(SessionFailed, match="did not empty its caches at /no_such_reset"):
        measure(tmp_path, spec, ledger)
    assert len(missing_cells(spec, ledger)) == len(spec.cells)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"dies_at_start": True}, "ended by itself"),
        ({"ready_after": None}, "not ready after 2 s (ready_timeout of the arm)"),
    ],
)
def test_an_engine_that_never_serves_is_said_with_the_end_of_its_log(
    tmp_path, spec, ledger, behaviour, words
):
    arm = spec.arm.model_copy(update={"ready_timeout": 2})
    with pytest.raises(EngineFailed) as caught:
        measure(tmp_path, spec.model_copy(update={"arm": arm}), ledger, **behaviour)
    assert words in str(caught.value)
    assert "the end of its log" in str(caught.value)
    assert len(missing_cells(spec, ledger)) == len(spec.cells)


@pytest.mark.parametrize("fault", ["http-500", "no-usage"])
def test_a_fault_in_mid_campaign_keeps_what_finished_and_resumes(tmp_path, spec, ledger, fault):
    first = spec.cells[0].scenario
    good = first.requests + first.warmups
    with pytest.raises(SessionFailed) as caught:
        measure(tmp_path, spec, ledger, fault=fault, fault_from=good)
    assert "1 of 3 cells were measured" in str(caught.value)
    assert len(missing_cells(spec, ledger)) == 2
    measure(tmp_path, spec, ledger)
    assert missing_cells(spec, ledger) == []


def test_an_interrupt_keeps_all_that_a_finished_cell_needs(tmp_path, spec, ledger):
    last = spec.cells[2].scenario.id

    class Interrupting(StandIn):
        def body(self, arm, scenario):
            if scenario.id == last:
                raise KeyboardInterrupt
            return super().body(arm, scenario)

    with (
        Progress("ngram", 1, 3, 3, tmp_path / "log") as progress,
        pytest.raises(KeyboardInterrupt),
    ):
        measure_missing(spec, spec.cells, ledger, bench(tmp_path, Interrupting(), progress))
    done = [cell.fingerprint for cell in spec.cells[:2]]
    assert [cell.fingerprint for cell in missing_cells(spec, ledger)] == [spec.cells[2].fingerprint]
    assert len(ledger.pack(done, tmp_path / "pack")["cells"]) == 2


def test_an_engine_that_dies_in_mid_cell_ends_the_session_and_names_its_log(tmp_path, spec, ledger):
    first = spec.cells[0].scenario
    with pytest.raises(SessionFailed) as caught:
        measure(tmp_path, spec, ledger, dies_after=first.requests + first.warmups + 2)
    assert "the engine is gone" in str(caught.value)
    assert "server.log" in str(caught.value)
    assert len(missing_cells(spec, ledger)) == 2


def test_a_program_that_does_not_exist_is_one_message(tmp_path, spec, ledger):
    adapter = StandIn()
    adapter.command = lambda arm, placed, port: ["./no-such-engine"]
    missing = missing_cells(spec, ledger)
    with (
        Progress("ngram", 1, 3, 3, tmp_path / "log") as progress,
        pytest.raises(SpecdockError, match="no-such-engine does not start"),
    ):
        measure_missing(spec, missing, ledger, bench(tmp_path, adapter, progress))


# An engine that is still loading: it and its worker take no notice of a friendly signal.
DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = os.fork()
if worker:
    print("worker", worker, flush=True)
time.sleep(600)
"""
PARENT = """
import sys, time
from pathlib import Path
from specdock.runs.server import Server
log = Path(sys.argv[1])
with Server([sys.executable, "-c", sys.argv[2]], {}, 1, log, log.parent) as server:
    while "worker" not in log.read_text():
        time.sleep(0.05)
    print(server._process.pid, log.read_text().split()[-1], flush=True)
    time.sleep(600)
"""


def test_an_engine_does_not_outlive_a_killed_job(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path / "log", DEAF],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
    )
    processes = [int(pid) for pid in parent.stdout.readline().split()]
    assert all(map(_alive, processes))
    parent.kill()
    parent.wait()
    for _ in range(300):
        if not any(map(_alive, processes)):
            return
        time.sleep(0.1)
    for pid in filter(_alive, processes):
        os.kill(pid, signal.SIGKILL)
    pytest.fail("the engine is an orphan")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
