"""Runs a client against a server that is up, and keeps what it exports."""

import gzip
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO

from specdock.clients import client_of
from specdock.clients.contract import LOG, ClientFailed, Load
from specdock.environments.build import BuiltEnvironment, build
from specdock.plan.spec import ClientSpec
from specdock.runs.leash import hold

# Start and stop of a client take time of their own, whatever it measures.
_PATIENCE_SECONDS = 600
# Not offline by variable: AIPerf would then take a folder for the name of a repository of the hub.
_QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "NO_COLOR": "1"}


def environment_of(spec: ClientSpec, root: Path) -> BuiltEnvironment:
    """The environment of a client, built if need be."""
    return build(spec.name, spec.client.environment, root)


def drive(spec: ClientSpec, python: Path, load: Load, folder: Path, root: Path) -> list[str]:
    """Runs the client until it ends; its exports and what it printed are then in `folder`.

    `folder` is relative to `root`, where the client runs. Returns its command line; raises
    `ClientFailed` if it failed, took far too long, or left no export.
    """
    client, scratch = client_of(spec), folder / "scratch"
    (root / scratch).mkdir(parents=True)
    # Paths from the repository root, so that a recorded command line names nobody's folders.
    argv = [word.replace(f"{root}/", "") for word in client.command(python, load, root / scratch)]
    turns = -(-len(load.bodies) // load.streams)
    with (root / scratch / LOG).open("wb") as log:
        fault = _run(argv, root, log, turns * load.timeout + _PATIENCE_SECONDS)
    _keep(root / scratch / LOG, root / folder, root)
    if fault:
        end = "\n".join((root / folder / LOG).read_text("utf-8").splitlines()[-12:])
        raise ClientFailed(f"{spec.name}: {fault}; the end of {folder / LOG}:\n{end}")
    for name in client.exports:
        if not (root / scratch / name).is_file():
            raise ClientFailed(f"{spec.name} left no {name}; see {folder / LOG}")
        _keep(root / scratch / name, root / folder, root)
    shutil.rmtree(root / scratch)
    return argv


def _run(argv: list[str], root: Path, log: IO[bytes], limit: float) -> str:
    """What went wrong, if anything; no process of the client is left behind."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        argv,
        cwd=root,
        env=inherited | _QUIET,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    leash = hold(process.pid)
    try:
        code = process.wait(limit)
        return f"exit code {code}" if code else ""
    except subprocess.TimeoutExpired:
        return f"no end after {limit:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        leash.communicate()


def _keep(file: Path, folder: Path, root: Path) -> None:
    """Keeps an export without the names of this machine's folders; lines of JSON are packed."""
    text = file.read_text(encoding="utf-8", errors="replace")
    text = text.replace(str(root), ".").replace(str(Path.home()), "~")
    if file.suffix == ".jsonl":
        packed = gzip.compress(text.encode(), mtime=0)
        (folder / f"{file.name}.gz").write_bytes(packed)
    else:
        (folder / file.name).write_text(text, encoding="utf-8")
