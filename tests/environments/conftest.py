"""A machine of our own: an empty cache, an index in a folder, wheel folders only where named."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Machine:
    """The folders of a repository and of what a machine offers beside it."""

    root: Path
    index: Path
    wheels: Path


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Machine:
    made = Machine(tmp_path / "repository", tmp_path / "index", tmp_path / "wheels")
    (made.root / "envs").mkdir(parents=True)
    made.index.mkdir()
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", str(made.index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    return made
