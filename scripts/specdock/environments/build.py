"""Builds an engine's environment where it is missing: from hashed locks, whole or not at all."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from filelock import FileLock

from specdock.environments.container import find_runtime, pull
from specdock.environments.fingerprint import environment_fingerprint
from specdock.environments.locks import read_lock, versions
from specdock.environments.uv import UvFailed, install, installed, make_venv, wheel_folders
from specdock.errors import SpecdockError
from specdock.plan.fingerprint import sha256_of
from specdock.plan.models import (
    ContainerEnvironment,
    EnvironmentSpec,
    ExternalEnvironment,
    VenvEnvironment,
)

_INSTALLED = "installed.lock"  # in each environment: the requirements it was made of
_LOCAL_MISSING = re.compile(r"you require \S+==\S+\+")  # as uv says it


@dataclass(frozen=True)
class BuiltEnvironment:
    """An environment that can start its engine."""

    python: Path
    """The interpreter, or the binary of an external engine; of a container, inside the image."""
    packages: dict[str, str]
    """What is really installed: name to version; of a binary, its sha256."""
    lock_sha256: str
    differences: tuple[str, ...] = ()
    """One line for each package of an external environment that is not as locked."""


def build(engine: str, spec: EnvironmentSpec, root: Path) -> BuiltEnvironment:
    """The environment of an engine, built first if need be under `.envs/<engine>.<fingerprint>`.

    Raises `SpecdockError` if it cannot be built exactly as locked.
    """
    match spec:
        case VenvEnvironment():
            return _venv(engine, spec, root)
        case ExternalEnvironment():
            return _external(engine, spec, root)
        case ContainerEnvironment():
            return _container(spec)


# Built from a lock
# -----------------


def _venv(engine: str, spec: VenvEnvironment, root: Path) -> BuiltEnvironment:
    home = root / ".envs" / f"{engine}.{environment_fingerprint(spec, root)}"
    home.parent.mkdir(exist_ok=True)
    with FileLock(f"{home}.lock"):
        # Not so where a build was killed, nor where the interpreter behind it was uninstalled.
        if not (home / "bin/python").exists():
            _make(engine, spec, root, home)
    packages = installed(home / "bin/python")
    if changes := _differences(versions(read_lock(home / _INSTALLED)), packages):
        changed = "\n".join(changes)
        raise SpecdockError(
            f"{home.relative_to(root)}: changed after it was built from {spec.lock}\n"
            f"{indent(changed, '  ')}\n"
            "  delete the folder; the next call builds it anew"
        )
    return BuiltEnvironment(home / "bin/python", packages, sha256_of(root / spec.lock))


def _make(engine: str, spec: VenvEnvironment, root: Path, home: Path) -> None:
    """Builds beside the final place and renames, so that an environment is there whole or not."""
    part = home.with_name(f"{home.name}.part")
    try:
        make_venv(part, spec.python)
    except UvFailed as failure:
        raise SpecdockError(
            f"config/engines.yaml: {engine}.environment.python\n"
            f"  found    {spec.python}, of which this machine has no interpreter\n"
            f"{indent(str(failure), '    ')}\n"
            f"  install any Python {spec.python} and put it on PATH"
        ) from None
    try:
        _install(spec, root, part)
    except UvFailed as failure:
        raise SpecdockError(
            f"{spec.lock}: the environment of {engine} cannot be built as locked\n"
            f"{indent(str(failure), '    ')}\n"
            f"  {_advice(str(failure), spec.lock)}"
        ) from None
    shutil.rmtree(home, ignore_errors=True)
    part.rename(home)


def _install(spec: VenvEnvironment, root: Path, folder: Path) -> None:
    lock = read_lock(root / spec.lock)
    # No index of packages holds local versions such as 2.13.0+cpu; a folder of wheels may.
    local = any("+" in version for version in versions(lock).values())
    try:
        _sync(folder, lock, wheel_folders() if local else [])
    except UvFailed as failure:
        if spec.fallback is None or not _LOCAL_MISSING.search(str(failure)):
            raise
        _sync(folder, lock | read_lock(root / spec.fallback), [])


def _sync(folder: Path, requirements: dict[str, str], folders: list[str]) -> None:
    (folder / _INSTALLED).write_text("".join(requirements.values()), encoding="utf-8")
    install(folder / "bin/python", folder / _INSTALLED, folders)


def _advice(uv_said: str, lock: str) -> str:
    if "Hash mismatch" in uv_said:
        return (
            "the index serves another file than the locked one, or the lock was edited: restore it "
            f"(git checkout {lock}) or make it anew (scripts/relock.sh)"
        )
    if _LOCAL_MISSING.search(uv_said):
        return "name a folder or page that has this wheel in UV_FIND_LINKS; no index holds it"
    return "call again when the cause is gone; downloads that were finished are kept"


# An image by digest
# ------------------


def _container(spec: ContainerEnvironment) -> BuiltEnvironment:
    pull(find_runtime(), spec.image)
    name, _, digest = spec.image.partition("@sha256:")
    return BuiltEnvironment(Path(spec.python), {name: f"sha256:{digest}"}, digest)


# Brought by the user
# -------------------


def _external(engine: str, spec: ExternalEnvironment, root: Path) -> BuiltEnvironment:
    variable = re.fullmatch(r"[A-Z][A-Z0-9_]*", spec.python)
    python = Path(os.environ.get(spec.python, "") if variable else spec.python)
    if not os.access(python, os.X_OK) or not python.is_file():
        raise SpecdockError(
            f"config/engines.yaml: {engine}.environment.python\n"
            f"  found    {spec.python}{f'={python}' if variable else ''}\n"
            "  allowed  the path of an interpreter or a binary, or a variable that holds it"
        )
    locked = versions(read_lock(root / spec.lock))
    if not python.name.startswith("python"):
        packages = {python.name: f"sha256:{sha256_of(python)}"}
        differences = (f"{python.name} is a binary: nothing of {spec.lock} can be compared",)
    else:
        packages = installed(python)
        differences = _differences(locked, packages)
    return BuiltEnvironment(python, packages, sha256_of(root / spec.lock), differences)


def _differences(locked: dict[str, str], found: dict[str, str]) -> tuple[str, ...]:
    return tuple(
        f"{name}: locked {locked.get(name, 'nothing')}, found {found.get(name, 'nothing')}"
        for name in sorted(locked | found)
        if locked.get(name) != found.get(name)
    )
