"""An arm's command line, judged by the engine's own parser and config classes, without a card."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from specdock.engines import ADAPTERS
from specdock.engines.contract import Placed
from specdock.environments.build import build
from specdock.errors import SpecdockError
from specdock.plan.models import ContainerEnvironment
from specdock.plan.spec import ArmSpec, Pinned

_PROBES = Path(__file__).parent / "probes"
_PORT = 8000


class ArmRefused(SpecdockError):
    """The engine itself refuses the arm's command line."""


def check_arm(arm: ArmSpec, root: Path) -> dict:
    """What was checked, what could not be, and the command line; builds the environment if need be.

    Raises `ArmRefused` with all that the engine has against the arm.
    """
    container = isinstance(arm.engine.environment, ContainerEnvironment)
    python = (
        Path(arm.engine.environment.python)
        if container
        else build(arm.engine_name, arm.engine.environment, root).python
    )
    adapter = ADAPTERS[arm.engine.adapter]
    with tempfile.TemporaryDirectory() as scratch:
        placed = Placed(
            python=python,
            target=_checkpoint(arm.target, root, Path(scratch)),
            drafter=_checkpoint(arm.drafter, root, Path(scratch)) if arm.drafter else None,
            cache=Path("resources/kernels"),
        )
        command = adapter.command(arm, placed, _PORT)
        variables = adapter.variables(arm, placed)
        by_engine = _by_program if arm.engine.adapter == "llama-cpp" else _by_probe
        judge = _not_asked if container else by_engine
        verdict = judge(arm, command, root, os.environ | variables)
        shown = [word.replace(scratch, "resources") for word in command[1:]]
    if problems := verdict.pop("problems"):
        listed = "\n".join(f"  found    {problem}" for problem in problems)
        raise ArmRefused(f"arms.{arm.name}: {arm.engine_name} refuses its command line\n{listed}")
    return {"arm": arm.name, "engine": arm.engine_name, "arguments": shown, **verdict}


def _checkpoint(pinned: Pinned, root: Path, scratch: Path) -> Path:
    """The fetched checkpoint, else a folder of the same name that only looks like one."""
    name = f"{pinned.name}.{pinned.pin}"
    fetched = Path("resources") / name
    if (root / fetched).is_dir():
        return fetched
    stand_in = scratch / name
    stand_in.mkdir(exist_ok=True)
    (stand_in / "model.gguf").touch()
    return stand_in


def _not_asked(arm: ArmSpec, command: list[str], root: Path, variables: dict[str, str]) -> dict:
    """An image is run on the machine that measures only: what was not asked is said in full."""
    flags = [word for word in command[1:] if word.startswith("--")]
    return {
        "checked": [],
        "unchecked": [
            f"the image {arm.engine.environment.image}: neither pulled nor started here",
            f"{len(flags)} flags that its engine would be given: {', '.join(flags)}",
            f"the speculative method {arm.speculation.method}, which its engine may not know",
            f"whether {arm.target.name} and its drafter load and fit together",
        ],
        "problems": [],
    }


def _by_probe(arm: ArmSpec, command: list[str], root: Path, variables: dict[str, str]) -> dict:
    """A script of ours in the engine's interpreter hands the arguments to the engine's classes."""
    python, _, module, *arguments = command
    probe = _PROBES / f"{arm.engine.adapter}_arguments.py"
    done = subprocess.run(
        [python, probe],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        cwd=root,
        env=variables,
    )
    if done.returncode != 0:
        end = "\n".join(done.stderr.splitlines()[-12:])
        raise SpecdockError(
            f"arms.{arm.name}: {module} of {arm.engine_name} cannot be asked on this machine\n{end}"
        )
    return json.loads(done.stdout.splitlines()[-1])


def _by_program(arm: ArmSpec, command: list[str], root: Path, variables: dict[str, str]) -> dict:
    """llama.cpp reads its arguments in order, and ends at `--version` without loading anything."""
    done = subprocess.run(
        [*command, "--version"], capture_output=True, text=True, cwd=root, env=variables
    )
    said = (done.stderr.strip() or f"exit code {done.returncode}").partition("\n")[0]
    return {
        "checked": ["every flag and value, by llama.cpp's own parser"],
        "unchecked": ["whether the model and its drafter load and fit together"],
        "problems": [said] if done.returncode != 0 else [],
    }
