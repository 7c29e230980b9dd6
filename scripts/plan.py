"""Prints the matrix of a study: what is measured, what is to run, how long it takes."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from specdock.errors import told
from specdock.plan.matrix import print_matrix
from specdock.plan.resolve import resolve


def main() -> None:
    """Resolves the study and prints its matrix to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    arguments = parser.parse_args()
    with told():
        plan = resolve(Path.cwd(), arguments.study)
    # A pipe has no width of its own; the table is never folded to fit one.
    width = None if sys.stdout.isatty() else 200
    print_matrix(plan, Path.cwd(), Console(width=width))


if __name__ == "__main__":
    main()
