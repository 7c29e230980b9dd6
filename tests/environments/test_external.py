"""An environment that the user brings is used as it is; its difference from the lock is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from specdock.environments.build import build
from specdock.errors import SpecdockError
from specdock.plan.models import ExternalEnvironment
from tests.environments.wheels import locked, write_wheel


def external(python: str | Path) -> ExternalEnvironment:
    return ExternalEnvironment(kind="external", python=str(python), lock="envs/tiny.lock")


@pytest.fixture
def interpreter(machine) -> Path:
    """An interpreter of the user's, with a package of another version than the locked one."""
    theirs = write_wheel(machine.wheels, "tiny", "2.0")
    (machine.root / "envs/tiny.lock").write_text(
        locked(
            write_wheel(machine.wheels, "tiny", "1.0"), write_wheel(machine.wheels, "other", "1.0")
        )
    )
    folder = machine.root.parent / "theirs"
    uv = [find_uv_bin(), "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, folder], check=True)
    python = folder / "bin/python"
    subprocess.run([*uv, "pip", "install", "--python", python, "--no-index", theirs], check=True)
    return python


def test_packages_are_recorded_and_differences_told(machine, interpreter):
    built = build("engine", external(interpreter), machine.root)
    assert built.python == interpreter
    assert built.packages == {"tiny": "2.0"}
    assert built.differences == (
        "other: locked 1.0, found nothing",
        "tiny: locked 1.0, found 2.0",
    )


def test_a_variable_may_hold_the_path(machine, interpreter, monkeypatch):
    monkeypatch.setenv("ENGINE_PYTHON", str(interpreter))
    assert build("engine", external("ENGINE_PYTHON"), machine.root).python == interpreter


@pytest.mark.parametrize("python", ["ENGINE_PYTHON", "no/such/python"])
def test_a_missing_interpreter_is_said_with_its_key(machine, interpreter, python):
    with pytest.raises(SpecdockError, match=rf"(?s)engine\.environment\.python.*found +{python}"):
        build("engine", external(python), machine.root)


def test_a_binary_is_known_by_its_hash(machine, interpreter):
    binary = machine.root / "llama-server"
    binary.write_bytes(b"\x7fELF")
    binary.chmod(0o755)
    built = build("engine", external(binary), machine.root)
    assert list(built.packages) == ["llama-server"]
    assert built.packages["llama-server"].startswith("sha256:")
    assert len(built.differences) == 1
    os.truncate(binary, 1)
    assert build("engine", external(binary), machine.root).packages != built.packages
