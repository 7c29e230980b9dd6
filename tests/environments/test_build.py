"""Environments are built whole and as locked, or not at all."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from specdock.environments.build import build
from specdock.errors import SpecdockError
from specdock.plan.models import VenvEnvironment
from tests.environments.wheels import locked, write_index, write_wheel

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
SCRIPTS = Path(__file__).parents[2] / "scripts"


def spec(**entries: str) -> VenvEnvironment:
    return VenvEnvironment(kind="venv", lock="envs/tiny.lock", **{"python": HERE} | entries)


def offer(machine, name: str = "tiny", version: str = "1.0", content: str = "") -> Path:
    """Puts a wheel on the machine's index."""
    wheel = write_wheel(machine.index.parent / "files", name, version, content)
    write_index(machine.index, wheel)
    return wheel


def lock(machine, *wheels: Path, name: str = "tiny") -> None:
    (machine.root / f"envs/{name}.lock").write_text(locked(*wheels))


def printed(*argv: str | Path) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def test_an_environment_holds_exactly_what_is_locked(machine):
    lock(machine, offer(machine))
    built = build("engine", spec(), machine.root)
    assert built.packages == {"tiny": "1.0"}
    assert built.python.is_relative_to(machine.root / ".envs")
    assert printed(built.python, "-c", "import tiny; print(tiny.VERSION)") == "1.0"


def test_console_scripts_run_although_the_folder_was_renamed(machine):
    lock(machine, offer(machine))
    built = build("engine", spec(), machine.root)
    assert printed(built.python.parent / "tiny") == "1.0"


def test_modules_are_compiled_at_install(machine):
    lock(machine, offer(machine))
    built = build("engine", spec(), machine.root)
    assert list(built.python.parents[1].glob("lib/*/site-packages/__pycache__/tiny.*.pyc"))


def test_what_is_built_is_not_built_again(machine):
    wheel = offer(machine)
    lock(machine, wheel)
    first = build("engine", spec(), machine.root)
    wheel.unlink()
    inode = first.python.parents[1].stat().st_ino
    assert build("engine", spec(), machine.root) == first
    assert first.python.parents[1].stat().st_ino == inode


def test_another_lock_is_another_environment(machine):
    lock(machine, offer(machine))
    old = build("engine", spec(), machine.root)
    lock(machine, offer(machine, version="2.0"))
    new = build("engine", spec(), machine.root)
    assert (old.packages, new.packages) == ({"tiny": "1.0"}, {"tiny": "2.0"})
    assert printed(old.python, "-c", "import tiny; print(tiny.VERSION)") == "1.0"


def test_an_environment_whose_interpreter_went_away_is_built_again(machine):
    lock(machine, offer(machine))
    built = build("engine", spec(), machine.root)
    built.python.unlink()
    built.python.symlink_to("uninstalled")
    assert build("engine", spec(), machine.root) == built
    assert printed(built.python, "-c", "import tiny; print(tiny.VERSION)") == "1.0"


def test_a_killed_build_leaves_nothing_that_counts_and_the_next_one_is_whole(machine):
    lock(machine, offer(machine))
    code = f"""
from pathlib import Path
from specdock.environments.build import build
from specdock.plan.models import VenvEnvironment
build("engine", VenvEnvironment(kind="venv", lock="envs/tiny.lock", python="{HERE}"), Path.cwd())
"""
    with socket.create_server(("127.0.0.1", 0)) as silent_index:
        address = f"http://127.0.0.1:{silent_index.getsockname()[1]}/simple"
        killed = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=machine.root,
            env=os.environ | {"UV_DEFAULT_INDEX": address, "PYTHONPATH": str(SCRIPTS)},
            start_new_session=True,
        )
        silent_index.settimeout(30)
        silent_index.accept()
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    left = [folder.name for folder in (machine.root / ".envs").iterdir() if folder.is_dir()]
    assert len(left) == 1
    assert left[0].endswith(".part")
    assert build("engine", spec(), machine.root).packages == {"tiny": "1.0"}
    assert not list((machine.root / ".envs").glob("*.part"))


def test_two_jobs_build_one_environment(machine):
    lock(machine, offer(machine))
    code = f"""
from pathlib import Path
from specdock.environments.build import build
from specdock.plan.models import VenvEnvironment
spec = VenvEnvironment(kind="venv", lock="envs/tiny.lock", python="{HERE}")
python = build("engine", spec, Path.cwd()).python
print(python.parents[1].stat().st_ino)
"""
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=machine.root,
            env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    inodes = {job.communicate()[0] for job in jobs}
    assert [job.returncode for job in jobs] == [0, 0]
    assert len(inodes) == 1


def test_a_tampered_lock_is_refused_by_name(machine):
    wheel = offer(machine)
    (machine.root / "envs/tiny.lock").write_text(f"tiny==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SpecdockError, match=r"(?s)envs/tiny\.lock.*Hash mismatch for `tiny==1.0`"):
        build("engine", spec(), machine.root)
    lock(machine, wheel)
    assert build("engine", spec(), machine.root).packages == {"tiny": "1.0"}


def test_a_tampered_wheel_is_refused_by_name(machine):
    lock(machine, offer(machine))
    offer(machine, content="import os")
    with pytest.raises(SpecdockError, match=r"(?s)envs/tiny\.lock.*Hash mismatch for `tiny==1.0`"):
        build("engine", spec(), machine.root)
    assert {left.suffix for left in (machine.root / ".envs").iterdir()} == {".part", ".lock"}


def test_no_code_of_a_package_runs_at_install(machine):
    source = offer(machine).with_name("tiny-2.0.tar.gz")
    source.write_bytes(b"")
    write_index(machine.index, source)
    digest = hashlib.sha256(b"").hexdigest()
    text = f"tiny==2.0 \\\n    --hash=sha256:{digest}\n"
    (machine.root / "envs/tiny.lock").write_text(text)
    with pytest.raises(SpecdockError, match=r"(?s)tiny==2.0 has no usable wheels"):
        build("engine", spec(), machine.root)


@pytest.mark.parametrize("line", ["tiny==1.0", "tiny>=1.0 \\\n    --hash=sha256:" + "0" * 64])
def test_a_lock_line_without_pin_or_hash_is_refused(machine, line):
    offer(machine)
    (machine.root / "envs/tiny.lock").write_text(line + "\n")
    with pytest.raises(SpecdockError, match=r"(?s)envs/tiny\.lock.*found +tiny"):
        build("engine", spec(), machine.root)


def test_an_environment_changed_by_hand_is_refused(machine):
    lock(machine, offer(machine))
    built = build("engine", spec(), machine.root)
    (info,) = built.python.parents[1].glob("lib/*/site-packages/tiny-1.0.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 9.0\n")
    info.rename(info.with_name("tiny-9.0.dist-info"))
    with pytest.raises(SpecdockError, match=r"tiny: locked 1\.0, found 9\.0"):
        build("engine", spec(), machine.root)


def test_a_local_version_comes_from_a_folder_that_uv_or_pip_is_told_of(machine, monkeypatch):
    lock(machine, write_wheel(machine.wheels, "tiny", "1.0+cpu"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(machine.wheels))
    assert build("engine", spec(), machine.root).packages == {"tiny": "1.0+cpu"}


def test_a_wheel_folder_does_not_hide_the_version_of_the_index(machine, monkeypatch):
    lock(machine, offer(machine))
    write_wheel(machine.wheels, "tiny", "1.0+cpu")
    monkeypatch.setenv("UV_FIND_LINKS", str(machine.wheels))
    assert build("engine", spec(), machine.root).packages == {"tiny": "1.0"}


def test_the_fallback_stands_in_for_a_local_version_that_is_not_offered(machine):
    other = offer(machine, "other")
    lock(machine, other, write_wheel(machine.wheels, "tiny", "1.0+cpu"))
    lock(machine, offer(machine), offer(machine, "libraries"), name="fallback")
    built = build("engine", spec(fallback="envs/fallback.lock"), machine.root)
    assert built.packages == {"other": "1.0", "tiny": "1.0", "libraries": "1.0"}
    assert build("engine", spec(fallback="envs/fallback.lock"), machine.root) == built


def test_the_fallback_hides_no_other_fault(machine, monkeypatch):
    wheel = write_wheel(machine.wheels, "tiny", "1.0+cpu")
    lock(machine, wheel)
    wheel.write_bytes(write_wheel(machine.wheels, "tiny", "1.0+cpu", "import os").read_bytes())
    lock(machine, offer(machine), name="fallback")
    monkeypatch.setenv("UV_FIND_LINKS", str(machine.wheels))
    with pytest.raises(SpecdockError, match=r"Hash mismatch for `tiny==1.0\+cpu`"):
        build("engine", spec(fallback="envs/fallback.lock"), machine.root)


def test_a_local_version_that_is_offered_nowhere_says_where_to_name_it(machine):
    lock(machine, write_wheel(machine.wheels, "tiny", "1.0+cpu"))
    with pytest.raises(SpecdockError, match=r"(?s)tiny==1.0\+cpu.*UV_FIND_LINKS"):
        build("engine", spec(), machine.root)


def test_a_missing_python_is_said_in_one_message(machine):
    lock(machine, offer(machine))
    with pytest.raises(
        SpecdockError, match=r"(?s)engine\.environment\.python.*install any Python 3\.99"
    ):
        build("engine", spec(python="3.99"), machine.root)
