"""Times every table of claims for a study of 60 arms x 30 scenarios x 5 seeds.

    PYTHONPATH=scripts:tests/article python benchmarks/arguments.py

The data are invented; only the time is meant. Wall time stands beside the processor time that was
spent, which other work on the machine does not change. The limit is 60 s on two cores; over it the
exit code is 1.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from unittest.mock import patch

import synthetic_study
from synthetic_study import SyntheticStudy

from specdock.claims.arguments import ARGUMENTS
from specdock.claims.arguments.measured import Measured
from specdock.claims.build import build_claims

LEVELS = [1, 2, 4, 8, 16, 32]
SWEPT = [f"swept-{index}" for index in range(56)]
ARMS = ["plain", "ngram", "matched", "drafter", *SWEPT]
STUDY = SyntheticStudy(
    arms=ARMS,
    roles={
        "reference": "plain",
        "incumbent": "ngram",
        "matched": "matched",
        "candidate": "drafter",
        "sweep": SWEPT,
    },
    workloads=dict.fromkeys(["essays", "code", "mail", "law", "sums"], LEVELS),
    seeds=[1, 2, 3, 4, 5],
    requests=32,
    unusable=None,
    not_run=None,
    drafts={arm: 3 + index % 4 for index, arm in enumerate(SWEPT)},
    chain=ARMS[:4],
)
LIMIT = 60.0


def timed(name: str, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and on the processor that `work` takes, printed."""
    wall, spent = perf_counter(), process_time()
    work()
    wall, spent = perf_counter() - wall, process_time() - spent
    print(f"{wall:8.2f} s, processor {spent:6.2f} s  {name}", flush=True)
    return wall, spent


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with patch.object(synthetic_study, "build_claims"):
            study = STUDY.write(root)
        plan = json.loads((study / "plan.json").read_text(encoding="utf-8"))
        measured = Measured(plan, study / "tables", root)
        for name, argument in ARGUMENTS.items():
            timed(name, lambda rows=argument.rows: list(rows(measured)))
        tables = study / "tables", root, study / "claims"
        wall, _ = timed("all claims, written", lambda: build_claims(plan, *tables))
        print(f"The limit is {LIMIT:.0f} s.")
    return int(wall > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
