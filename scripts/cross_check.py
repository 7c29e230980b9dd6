"""Measures one cell by our client and by others against one server: the rule `measure_peers`."""

import argparse
import signal
import sys
from pathlib import Path

from specdock.errors import told
from specdock.peers.measure import measure_peers
from specdock.plan.spec import PeersSpec
from specdock.runs.server import die_with_parent


def main() -> None:
    """Reads the resolved cross-check, measures every round, leaves the raw files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="resolved cross-check, as JSON")
    parser.add_argument("--out", type=Path, required=True, help="folder of the raw files")
    parser.add_argument("--log", type=Path, required=True, help="where messages are kept")
    arguments = parser.parse_args()
    die_with_parent()
    # A signal becomes an exception, so that engine and clients are stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated; the cross-check begins anew"))
    root = Path.cwd()
    with told():
        spec = PeersSpec.model_validate_json(arguments.spec)
        measure_peers(spec, root, root / arguments.out, arguments.log)


if __name__ == "__main__":
    main()
