"""A lock is packed here and becomes an environment there: a folder of its own."""

import subprocess
import sys
from pathlib import Path

from tests.environments.wheels import locked, write_index, write_wheel

SCRIPTS = Path(__file__).parents[2] / "scripts"


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def carried(machine, tmp_path, excludes: str = "", piece: int | None = None) -> Path:
    """The interpreter of an environment that was packed and unpacked."""
    wheels = [
        write_wheel(machine.wheels, "engine", "1.0", "import helper\nnoise = bytes(range(256))"),
        write_wheel(machine.wheels, "helper", "2.0"),
    ]
    write_index(machine.index, *wheels)
    lock = tmp_path / "engine.lock"
    lock.write_text(locked(*wheels))
    (tmp_path / "excludes").write_text(excludes)
    done = run(
        *(sys.executable, SCRIPTS / "pack.py", lock, tmp_path / "pieces"),
        *("--excludes", tmp_path / "excludes", "--python", "3.11"),
    )
    assert done.returncode == 0, done.stderr
    if piece:
        whole = b"".join(path.read_bytes() for path in sorted((tmp_path / "pieces").iterdir()))
        for number in range(-(-len(whole) // piece)):
            part = whole[number * piece : (number + 1) * piece]
            (tmp_path / f"pieces/{number:03}").write_bytes(part)
    done = run(sys.executable, SCRIPTS / "unpack.py", tmp_path / "pieces", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    return tmp_path / "there/bin/python"


def test_what_was_locked_is_there_and_the_machines_own_packages_too(machine, tmp_path):
    python = carried(machine, tmp_path)
    done = run(python, "-c", "import engine, helper, pyarrow; print(engine.__file__)")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there").as_posix() in done.stdout
    assert not list((tmp_path / "there").rglob("site-packages/bin/*"))


def test_an_environment_comes_in_many_pieces(machine, tmp_path):
    python = carried(machine, tmp_path, piece=100)
    assert len(list((tmp_path / "pieces").iterdir())) > 3
    assert run(python, "-c", "import engine").returncode == 0


def test_packages_and_paths_are_left_out(machine, tmp_path):
    python = carried(machine, tmp_path, excludes="# not needed\nhelper\nengine-1.0.dist-info/M*\n")
    assert "No module named 'helper'" in run(python, "-c", "import engine").stderr
    (info,) = (tmp_path / "there").rglob("engine-1.0.dist-info")
    assert not (info / "METADATA").exists() and (info / "WHEEL").exists()


def test_a_wheel_of_other_bytes_is_not_carried(machine, tmp_path):
    wheel = write_wheel(machine.wheels, "engine", "1.0")
    write_index(machine.index, wheel)
    lock = tmp_path / "engine.lock"
    lock.write_text(locked(wheel))
    write_wheel(machine.wheels, "engine", "1.0", "changed = True")
    done = run(sys.executable, SCRIPTS / "pack.py", lock, tmp_path / "pieces", "--python", "3.11")
    assert done.returncode != 0
    assert "hash" in done.stderr.lower()
