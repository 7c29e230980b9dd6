"""Packs a locked environment for a machine without a network, in pieces that can be carried."""

import argparse
from pathlib import Path

from specdock.environments.carry import pack
from specdock.errors import told


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
    with told():
        count = pack(arguments.lock, excludes, arguments.python, arguments.out)
    print(f"{count} pieces in {arguments.out}")


if __name__ == "__main__":
    main()
