"""Measures one arm and seed: the job behind the rule `measure`."""

import argparse
import signal
import sys
from pathlib import Path

from specdock.errors import SpecdockError
from specdock.plan.spec import SessionSpec
from specdock.runs.measure import measure
from specdock.runs.server import die_with_parent


def main() -> None:
    """Reads the spec, measures what is missing, writes the session's declared outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="resolved session spec")
    parser.add_argument("--out", type=Path, required=True, help="folder of the declared outputs")
    parser.add_argument("--log", type=Path, required=True, help="where messages are kept")
    arguments = parser.parse_args()
    die_with_parent()
    # A signal becomes an exception, so that the engine is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated; finished cells are kept"))
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    spec = SessionSpec.model_validate_json(arguments.spec.read_text(encoding="utf-8"))
    try:
        measure(spec, root=Path.cwd(), out=arguments.out, log=arguments.log)
    except SpecdockError as problem:
        with arguments.log.open("a", encoding="utf-8") as log:
            log.write(f"{problem}\n")
        print(problem, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
