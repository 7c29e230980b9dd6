"""Driving a client: what it exports is kept, what it started is ended, what went wrong is told."""

import gzip
import json
import os
import sys
import time
from pathlib import Path

import pytest

from specdock.clients import CLIENTS, drive
from specdock.clients.contract import ClientFailed, Load
from specdock.plan.load import load_clients
from specdock.plan.spec import ClientSpec
from specdock.workloads.prompts import Prompt

ROOT = Path(__file__).parents[2]


class Scripted:
    """A client whose program is given."""

    exports = ("told.json", "raw.jsonl")

    def __init__(self, program: str):
        self.program = program

    def command(self, python, load, folder):
        return [str(python), "-c", self.program, str(folder)]


EXPORTS = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
(folder / "told.json").write_text('{"where": "%s"}' % pathlib.Path.cwd())
(folder / "raw.jsonl").write_text('{"a": 1}\\n')
(folder / "other.csv").touch()
print("measured in", pathlib.Path.cwd())
"""


@pytest.fixture
def driven(tmp_path, monkeypatch):
    """Runs a program as the client; its command line and its folder."""
    entry = load_clients(ROOT)["aiperf-0.13.0"]
    spec = ClientSpec(name="scripted", client=entry, environment="0" * 16, code="0" * 16)
    prompts = [Prompt("p", [{"role": "user", "content": "Hello"}])]
    load = Load("http://127.0.0.1:1", "vllm", prompts, [b"{}"], 1, 1, Path("target"), {})

    def run(program: str) -> tuple[list[str], Path]:
        monkeypatch.setitem(CLIENTS, "aiperf", Scripted(program))
        folder = Path("results/peers/round-1/scripted")
        argv = drive.drive(spec, Path(sys.executable), load, folder, tmp_path)
        return argv, tmp_path / folder

    return run


def test_exports_and_words_are_kept_without_the_names_of_folders(driven, tmp_path):
    argv, folder = driven(EXPORTS)
    assert sorted(path.name for path in folder.iterdir()) == [
        "client.log",
        "raw.jsonl.gz",
        "told.json",
    ]
    assert json.loads((folder / "told.json").read_text()) == {"where": "."}
    assert (folder / "client.log").read_text() == "measured in .\n"
    assert argv[-1] == "results/peers/round-1/scripted/scratch"
    assert str(tmp_path) not in " ".join(argv)


def test_the_same_export_is_kept_as_the_same_bytes(driven, tmp_path):
    _, folder = driven(EXPORTS)
    kept = (folder / "raw.jsonl.gz").read_bytes()
    assert kept == gzip.compress(b'{"a": 1}\n', mtime=0)


def test_a_client_that_fails_is_quoted(driven):
    with pytest.raises(ClientFailed, match=r"(?s)scripted: exit code 3; .*client.log:\nno server"):
        driven("print('no server'); raise SystemExit(3)")


def test_a_client_that_leaves_no_export_is_not_believed(driven):
    with pytest.raises(ClientFailed, match=r"left no told\.json"):
        driven("print('all is well')")


def test_a_client_that_never_ends_is_ended_with_what_it_started(driven, tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "_PATIENCE_SECONDS", 2)
    program = f"""
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
child.wait()
"""
    with pytest.raises(ClientFailed, match="scripted: no end after 3 s"):
        driven(program)
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not Path(f"/proc/{child}").exists() or _is_zombie(child):
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        pytest.fail("the client's own process outlived it")


def _is_zombie(process: int) -> bool:
    return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()
