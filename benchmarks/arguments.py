"""Times every table of the argument for a study of 60 arms x 30 scenarios x 5 seeds.

    PYTHONPATH=scripts:tests/article python benchmarks/arguments.py

The data are invented; only the time is meant. The limit is 60 s on two cores; over it the exit code
is 1.
"""

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import synthetic_study
from synthetic_study import SyntheticStudy

from specdock.claims.arguments import ARGUMENTS
from specdock.claims.arguments.measured import Measured

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


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        with patch.object(synthetic_study, "build_claims"):
            study = STUDY.write(Path(folder))
        plan = json.loads((study / "plan.json").read_text(encoding="utf-8"))
        measured = Measured(plan, study / "tables", Path(folder))
        total = 0.0
        for name, argument in ARGUMENTS.items():
            start = perf_counter()
            rows = sum(1 for _ in argument.rows(measured))
            total += perf_counter() - start
            print(f"{perf_counter() - start:8.2f} s  {name}, {rows:,} rows", flush=True)
    print(f"{total:8.2f} s  in all, limit {LIMIT:.0f} s")
    return int(total > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
