"""uv, which the orchestrator brings along: makes virtual environments, installs hashed locks."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from uv import find_uv_bin

from specdock.errors import SpecdockError


class UvFailed(SpecdockError):
    """uv ended with an error; the text is uv's own."""


def make_venv(folder: Path, python: str) -> None:
    """Makes an empty virtual environment, replacing what a killed build may have left there.

    uv takes any interpreter of the wanted version and, if there is none, tries to download one.
    The folder may be renamed afterwards.
    """
    _uv("venv", "--clear", "--relocatable", "--python", python, folder, PYENV_VERSION=python)


def install(python: Path, requirements: Path, find_links: list[str]) -> None:
    """Installs exactly the requirements, every wheel checked against its hashes.

    Wheels only, so that no code of a package runs at install. Compiled to bytecode, since an engine
    of three processes would otherwise spend a minute on compiling at each start.
    """
    links = [argument for link in find_links for argument in ("--find-links", link)]
    exact = ["--require-hashes", "--no-build", "--compile-bytecode"]
    _uv("pip", "sync", "--python", python, *exact, *links, requirements)


def installed(python: Path) -> dict[str, str]:
    """Package name to version of all that an interpreter's environment holds."""
    listed = json.loads(_uv("pip", "list", "--python", python, "--format", "json"))
    return {package["name"]: package["version"] for package in listed}


def pip_find_links() -> list[str]:
    """Where pip, by its configuration, looks for wheels beside the index; uv itself does not ask.

    None if uv has such a setting of its own.
    """
    if "UV_FIND_LINKS" in os.environ:
        return []
    links = os.environ.get("PIP_FIND_LINKS", "").split()
    if (pip := shutil.which("pip")) is not None:
        config = subprocess.run([pip, "config", "list"], capture_output=True, text=True).stdout
        for value in re.findall(r"^\S+\.find-links='(.*)'$", config, flags=re.MULTILINE):
            links += value.replace("\\n", " ").split()
    return list(dict.fromkeys(links))


def _uv(*arguments: str | Path, **variables: str) -> str:
    process = subprocess.run(
        [find_uv_bin(), *arguments], capture_output=True, text=True, env=os.environ | variables
    )
    if process.returncode != 0:
        raise UvFailed(process.stderr.strip())
    return process.stdout
