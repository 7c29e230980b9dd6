"""Exports a finished study as a Workflow Run RO-Crate with an entity for every printed number."""

import argparse
import shutil
import sys
from pathlib import Path

from specdock.audit.crate import export_crate
from specdock.audit.printed import PrintedNumbers
from specdock.errors import SpecdockError


def main() -> None:
    """Writes the folder of the crate anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<study>")
    parser.add_argument("--out", type=Path, required=True, help="folder of the crate")
    arguments = parser.parse_args()
    root = Path.cwd()
    shutil.rmtree(arguments.out, ignore_errors=True)
    try:
        export_crate(PrintedNumbers(root / arguments.study, root), arguments.out)
    except SpecdockError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
