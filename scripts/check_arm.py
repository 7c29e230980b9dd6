"""Has an arm judged by its own engine, without a card: the job behind the rule `check_arm`."""

import argparse
import json
from pathlib import Path

from specdock.checks.arm import check_arm
from specdock.errors import told
from specdock.plan.spec import ArmSpec


def main() -> None:
    """Reads the resolved arm, writes what was checked and what could not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", required=True, help="resolved arm, as JSON")
    parser.add_argument("--out", type=Path, required=True, help="the report")
    arguments = parser.parse_args()
    arm = ArmSpec.model_validate_json(arguments.arm)
    with told():
        report = check_arm(arm, root=Path.cwd())
    if not report["checked"]:
        # Not into the log alone: a report of nothing must not pass for a check.
        print(f"arms.{arm.name}: NOT CHECKED", *report["unchecked"], sep="\n  not asked: ")
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
