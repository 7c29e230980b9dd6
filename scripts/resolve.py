"""Writes a study with every name resolved, for the stages that argue about it."""

import argparse
import json
from pathlib import Path

from specdock.plan.resolve import resolve, resolved_study


def main() -> None:
    """Writes plan.json of a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    plan = resolved_study(resolve(Path.cwd(), arguments.study))
    arguments.out.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
