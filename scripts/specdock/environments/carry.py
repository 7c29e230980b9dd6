"""A locked environment in pieces, for a machine that is reached only by copying files to it."""

import shutil
import tarfile
import tempfile
from pathlib import Path

import pyarrow as pa

from specdock.environments.locks import read_lock
from specdock.environments.uv import install_for

PIECE = 58_000_000


def pack(lock: Path, excludes: set[str], python: str, out: Path) -> int:
    """Writes the pieces 000, 001, ... into `out` and returns how many.

    `excludes` are packages, or paths inside them, which have a slash; `python` is the version of
    the other machine. Raises `SpecdockError` if the lock is none, or a wheel has other bytes.
    """
    locked = read_lock(lock)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree, listed = Path(scratch, "tree"), Path(scratch, "requirements.txt")
        kept = [statement for name, statement in locked.items() if name not in excludes]
        listed.write_text("\n".join(kept), encoding="utf-8")
        install_for(python, listed, tree)
        _remove(tree, {path for path in excludes if "/" in path})
        compressed = Path(scratch, "tree.tar.zst")
        with (
            pa.CompressedOutputStream(str(compressed), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            archive.add(tree, arcname=".")
        return _cut(compressed, out)


def _remove(tree: Path, patterns: set[str]) -> None:
    """Deletes what is not needed there: console scripts, whose first line names this machine's
    Python, and the paths that match a pattern."""
    for script in (tree / "bin").glob("*"):
        with script.open("rb") as file:
            if file.read(2) == b"#!":
                script.unlink()
    for path in [found for pattern in patterns for found in tree.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _cut(whole: Path, out: Path) -> int:
    count = -(-whole.stat().st_size // PIECE)
    with whole.open("rb") as file:
        for number in range(count):
            (out / f"{number:03}").write_bytes(file.read(PIECE))
    return count
