"""Packs a locked environment for a machine without a network, in pieces that can be carried."""

import argparse
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pyarrow as pa
from uv import find_uv_bin

PIECE = 58_000_000


def main() -> None:
    """Installs the lock's packages into a folder, compresses it, and cuts it into pieces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", type=Path, help="hashed lock of envs/")
    parser.add_argument("out", type=Path, help="folder for the pieces 000, 001, ...")
    parser.add_argument(
        "--excludes", type=Path, help="packages to leave out, a line each, or paths with a slash"
    )
    parser.add_argument("--python", default="3.12", help="of the other machine")
    arguments = parser.parse_args()
    lines = arguments.excludes.read_text("utf-8").splitlines() if arguments.excludes else []
    excludes = {line for line in lines if line and not line.startswith("#")}
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        install(without(arguments.lock.read_text("utf-8"), excludes), arguments.python, tree)
        remove(tree, {path for path in excludes if "/" in path})
        compressed = Path(scratch, "tree.tar.zst")
        with (
            pa.CompressedOutputStream(str(compressed), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            archive.add(tree, arcname=".")
        count = cut(compressed, arguments.out)
    print(f"{count} pieces in {arguments.out}")


def without(lock: str, excludes: set[str]) -> str:
    """The entries of a hashed lock whose packages are not left out."""
    entries = re.findall(r"^[\w.-]+==.*(?:\n[ \t].*)*", lock, re.MULTILINE)
    return "\n".join(e for e in entries if re.match(r"[\w.-]+", e).group() not in excludes)


def install(requirements: str, python: str, tree: Path) -> None:
    """Wheels of the requirements for the other machine, hashes checked, no code of theirs run."""
    listed = tree.with_suffix(".txt")
    listed.write_text(requirements, encoding="utf-8")
    other = ["--python-version", python, "--python-platform", "x86_64-manylinux_2_39"]
    exact = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command = [find_uv_bin(), "pip", "install", "--quiet", *exact, *other, "--target", tree]
    subprocess.run([*command, "-r", listed], check=True)


def remove(tree: Path, patterns: set[str]) -> None:
    """Deletes what is not needed there: console scripts, whose first line names this machine's
    Python, and the paths that match a pattern."""
    for script in (tree / "bin").glob("*"):
        with script.open("rb") as file:
            if file.read(2) == b"#!":
                script.unlink()
    for path in [found for pattern in patterns for found in tree.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def cut(whole: Path, out: Path) -> int:
    """Cuts a file into numbered pieces and returns how many."""
    with whole.open("rb") as file:
        for number in range(-(-whole.stat().st_size // PIECE)):
            (out / f"{number:03}").write_bytes(file.read(PIECE))
    return number + 1


if __name__ == "__main__":
    main()
