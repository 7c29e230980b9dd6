"""Builds the tables of a study from its raw sessions and grades."""

import argparse
from pathlib import Path

from specdock.errors import told
from specdock.tables.build import build_tables


def main() -> None:
    """Reads manifests, specs and grades in the plan's order, writes the four tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifests", type=Path, nargs="*", required=True)
    parser.add_argument("--specs", type=Path, nargs="*", required=True)
    parser.add_argument("--grades", type=Path, nargs="*", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    root = Path.cwd()
    named = zip(arguments.manifests, arguments.specs, arguments.grades, strict=True)
    packs = [tuple(root / name for name in names) for names in named]
    with told():
        build_tables(packs, root, arguments.out)


if __name__ == "__main__":
    main()
