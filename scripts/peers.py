"""Compares the clients of a cross-check: the job behind the rule `compare_peers`."""

import argparse
import json
from pathlib import Path

from specdock.errors import told
from specdock.peers.table import build_peers


def main() -> None:
    """Reads the raw files of all clients, writes the table of their figures side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="resolved study")
    parser.add_argument("--manifest", type=Path, required=True, help="of the cross-check")
    parser.add_argument("--out", type=Path, required=True, help="the table, Parquet")
    arguments = parser.parse_args()
    plan, root = json.loads(arguments.plan.read_text(encoding="utf-8")), Path.cwd()
    with told():
        build_peers(plan, root / arguments.manifest, root, arguments.out)


if __name__ == "__main__":
    main()
