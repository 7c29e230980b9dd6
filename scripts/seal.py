"""Seals a finished study: the sha256 of every file that belongs to its plan."""

import argparse
import sys
from pathlib import Path

from specdock.audit.seal import seal
from specdock.errors import SpecdockError


def main() -> None:
    """Writes results/<study>/seal.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<study>")
    parser.add_argument("--grades", type=Path, nargs="*", required=True, help="of the plan's packs")
    arguments = parser.parse_args()
    root = Path.cwd()
    try:
        seal(root / arguments.study, [root / path for path in arguments.grades], root)
    except SpecdockError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
