"""Computes the claims of a study from its tables."""

import argparse
import json
from pathlib import Path

from specdock.claims.build import build_claims


def main() -> None:
    """Reads plan and tables, writes every table of claims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    plan = json.loads(arguments.plan.read_text(encoding="utf-8"))
    build_claims(plan, arguments.tables, Path.cwd(), arguments.out)


if __name__ == "__main__":
    main()
