"""A program of other people that evaluates what a model wrote can do no harm where it runs."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from specdock.errors import SpecdockError
from specdock.grades.view import confined, interpreter_parts

TRIES = """
import pathlib, socket
def tried(attempt, *arguments):
    try:
        attempt(*arguments)
        return "done"
    except OSError:
        return "refused"
print(tried(pathlib.Path("own").write_text, "x"))
print(tried(pathlib.Path("{outside}").write_text, "x"))
print(tried(pathlib.Path("{outside}").parent.iterdir().__next__))
print(tried(pathlib.Path("/etc/passwd").read_text))
print(tried(pathlib.Path("/usr/specdock").write_text, "x"))
print(tried(socket.create_connection, ("127.0.0.1", {port}), 2))
"""


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(("network", "reached"), [(False, "refused"), (True, "done")])
def test_it_writes_into_its_own_folder_alone(tmp_path, port, network, reached):
    own, outside = tmp_path / "own", tmp_path / "elsewhere/file"
    own.mkdir()
    outside.parent.mkdir()
    python = Path(sys.executable)
    command = confined(interpreter_parts(python), own, network)
    program = TRIES.format(outside=outside, port=port)
    done = subprocess.run([*command, python, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["done", *["refused"] * 4, reached], done.stderr
    assert (own / "own").read_text() == "x" and not outside.exists()


def test_without_bubblewrap_it_does_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpecdockError, match="install bubblewrap"):
        confined([], tmp_path, network=False)
