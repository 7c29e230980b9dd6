"""Writes the lock of a pin: its files with size, hash and licence, asked of their source."""

import argparse
from pathlib import Path

from specdock.errors import told
from specdock.pins.fetch import make_lock
from specdock.plan.load import load_pin


def main() -> None:
    """Locks one model or data set of the catalogues."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pin", required=True, help="name.fingerprint")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    root = Path.cwd()
    with told():
        name, entry = load_pin(root, arguments.pin)
        lock = make_lock(name, entry, root)
    arguments.out.write_text(lock.model_dump_json(indent=1, exclude_none=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
