"""A marker is the same on every machine, and changes with whatever decides the environment."""

import json
import subprocess
import sys
from pathlib import Path

from specdock.environments.fingerprint import environment_fingerprint
from specdock.environments.marker import marker
from specdock.plan.models import VenvEnvironment
from tests.environments.wheels import locked, write_wheel

ROOT = Path(__file__).parents[2]
SPEC = VenvEnvironment(kind="venv", lock="envs/a.lock", fallback="envs/b.lock", python="3.11")


def repository(folder: Path, versions: tuple[str, str] = ("1.0", "2.0")) -> Path:
    (folder / "envs").mkdir(parents=True)
    for name, version in zip("ab", versions, strict=True):
        wheel = write_wheel(folder / "wheels", "tiny", version)
        (folder / f"envs/{name}.lock").write_text(locked(wheel))
    return folder


def test_a_marker_names_packages_and_hashes_but_no_place_and_no_time(tmp_path):
    here = marker(SPEC, repository(tmp_path / "here"))
    there = marker(SPEC, repository(tmp_path / "there"))
    assert here == there
    assert here["locks"]["envs/a.lock"]["packages"] == {"tiny": "1.0"}
    assert here["locks"]["envs/b.lock"]["packages"] == {"tiny": "2.0"}
    assert str(tmp_path) not in json.dumps(here)


def test_the_fingerprint_changes_with_each_lock_and_with_the_python(tmp_path):
    same = repository(tmp_path / "same")
    fingerprints = {
        environment_fingerprint(SPEC, same),
        environment_fingerprint(SPEC, repository(tmp_path / "lock", ("1.1", "2.0"))),
        environment_fingerprint(SPEC, repository(tmp_path / "fallback", ("1.0", "2.1"))),
        environment_fingerprint(SPEC.model_copy(update={"python": "3.12"}), same),
        environment_fingerprint(SPEC.model_copy(update={"fallback": None}), same),
    }
    assert len(fingerprints) == 5


def test_the_script_writes_the_marker(tmp_path):
    root = repository(tmp_path)
    argv = [ROOT / "scripts/environment.py", "--environment", SPEC.model_dump_json(), "--out", "m"]
    subprocess.run([sys.executable, *argv], cwd=root, check=True)
    assert json.loads((root / "m").read_text()) == marker(SPEC, root)


def test_the_script_names_a_broken_lock_without_a_traceback(tmp_path):
    root = repository(tmp_path)
    (root / "envs/b.lock").write_text("tiny==2.0\n")
    argv = [ROOT / "scripts/environment.py", "--environment", SPEC.model_dump_json(), "--out", "m"]
    done = subprocess.run([sys.executable, *argv], cwd=root, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("envs/b.lock")


def test_parse_time_pays_for_no_installer():
    code = "import sys, specdock.environments.fingerprint; print('uv' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"
