"""Writes a study with every name resolved, for the stages that argue about it."""

import argparse
import json
from pathlib import Path

from specdock.plan.plan import replayed, resolved_study
from specdock.plan.resolve import resolve


def main() -> None:
    """Writes plan.json of a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--replay", action="store_true", help="only sessions that are there")
    arguments = parser.parse_args()
    root = Path.cwd()
    plan = resolve(root, arguments.study)
    study = resolved_study(replayed(plan, root) if arguments.replay else plan)
    arguments.out.write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
