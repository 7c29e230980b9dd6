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


def install(python: Path, requirements: Path, folders: list[str]) -> None:
    """Installs exactly the requirements from the index and folders of wheels, hashes checked.

    Wheels only, so that no code of a package runs at install. Compiled to bytecode, since an engine
    of three processes would otherwise spend a minute on compiling at each start.
    """
    links = [argument for folder in folders for argument in ("--find-links", folder)]
    exact = ["--require-hashes", "--no-build", "--compile-bytecode"]
    _uv("pip", "sync", "--python", python, *exact, *links, requirements)


def install_for(python: str, requirements: Path, tree: Path) -> None:
    """Puts wheels for another machine's Python into a folder, hashes checked."""
    other = ["--python-version", python, "--python-platform", "x86_64-manylinux_2_39"]
    exact = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    _uv("pip", "install", *exact, *other, "--target", tree, "-r", requirements)


def installed(python: Path) -> dict[str, str]:
    """Package name to version of all that an interpreter's environment holds."""
    listed = json.loads(_uv("pip", "list", "--python", python, "--format", "json"))
    return {package["name"]: package["version"] for package in listed}


def wheel_folders() -> list[str]:
    """Where this machine keeps wheels beside the index: what uv or pip is configured with."""
    folders = os.environ.get("UV_FIND_LINKS", "").split(",")
    folders += os.environ.get("PIP_FIND_LINKS", "").split()
    if (pip := shutil.which("pip")) is not None:
        config = subprocess.run([pip, "config", "list"], capture_output=True, text=True).stdout
        for value in re.findall(r"^\S+\.find-links='(.*)'$", config, flags=re.MULTILINE):
            folders += value.replace("\\n", " ").split()
    return list(dict.fromkeys(filter(None, folders)))


def _uv(*arguments: str | Path, **variables: str) -> str:
    # Wheel folders are given by argument only: a local version in one hides the index's version.
    inherited = {name: value for name, value in os.environ.items() if name != "UV_FIND_LINKS"}
    process = subprocess.run(
        [find_uv_bin(), "--quiet", *arguments],
        capture_output=True,
        text=True,
        env=inherited | variables,
    )
    if process.returncode != 0:
        raise UvFailed(process.stderr.strip())
    return process.stdout
