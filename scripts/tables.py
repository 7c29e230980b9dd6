"""Builds the tables of a study from its raw sessions and grades."""

import argparse
from pathlib import Path

from specdock.errors import told
from specdock.tables.build import build_tables


def main() -> None:
    """Reads manifests and grades in the plan's order, writes the four tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifests", type=Path, nargs="*", required=True)
    parser.add_argument("--grades", type=Path, nargs="*", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    root = Path.cwd()
    packs = [
        (root / manifest, root / grades)
        for manifest, grades in zip(arguments.manifests, arguments.grades, strict=True)
    ]
    with told():
        build_tables(packs, root, arguments.out)


if __name__ == "__main__":
    main()
