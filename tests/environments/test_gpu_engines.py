"""The engines for a card install from their locks on a machine without one.

Some ten gigabytes each, so only where it is asked for: `pytest -m nightly -s`.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from specdock.environments.build import build
from specdock.environments.locks import read_lock, versions
from specdock.plan.load import load_engines
from specdock.plan.models import VenvEnvironment

ROOT = Path(__file__).parents[2]
ENGINES = {
    name: engine
    for name, engine in load_engines(ROOT).items()
    if engine.device == "cuda" and isinstance(engine.environment, VenvEnvironment)
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_for_a_card_installs_from_its_lock(name, tmp_path):
    engine = ENGINES[name]
    shutil.copytree(ROOT / "envs", tmp_path / "envs")
    begin = time.monotonic()
    built = build(name, engine.environment, tmp_path)
    seconds = time.monotonic() - begin
    assert built.packages.items() >= versions(read_lock(ROOT / engine.environment.lock)).items()
    ask = f"import {engine.adapter} as engine; print(engine.__version__)"
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    told = subprocess.run(
        [built.python, "-c", ask], capture_output=True, text=True, env=inherited, check=True
    )
    assert told.stdout.split()[-1] == engine.version
    files = [path for path in built.python.parents[1].rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if not path.is_symlink())
    shutil.rmtree(tmp_path / ".envs")
    print(
        f"\n{name}: {len(built.packages)} packages, {size / 1e9:.1f} GB, built in {seconds:.0f} s"
    )
