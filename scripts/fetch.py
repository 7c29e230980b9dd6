"""Fetches the bytes of a pin, re-hashes them, converts where config says so, writes a receipt."""

import argparse
import json
from pathlib import Path

from specdock.errors import told
from specdock.pins.fetch import make_receipt
from specdock.plan.load import load_pin


def main() -> None:
    """Fetches one model or data set of the catalogues."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pin", required=True, help="name.fingerprint")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    root = Path.cwd()
    with told():
        name, entry = load_pin(root, arguments.pin)
        receipt = make_receipt(name, entry, root)
    text = json.dumps(receipt, indent=1, sort_keys=True)
    arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
