"""How long a large study takes to render, and in how much memory: at least 2,000 numbers over one
million invented request rows, page, ledger and audit together, in a process of its own."""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "scripts"), str(REPOSITORY / "tests/article")]

from synthetic_study import SyntheticStudy  # noqa: E402

SECONDS, MEBIBYTES = 20.0, 1536.0


def main() -> None:
    """Writes an invented study, renders it, prints what it cost; exits with 1 over the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=20)
    parser.add_argument("--workloads", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=500, help="requests a cell")
    size = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _large_study(size).write(root)
        command = [sys.executable, str(REPOSITORY / "scripts/render.py")]
        command += ["--study", "results/synthetic", "--out", "results/synthetic/article"]
        (root / "article").symlink_to(REPOSITORY / "article")
        start = time.perf_counter()
        subprocess.run(command, cwd=root, check=True)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        mebibytes = used.ru_maxrss / 1024
        out = root / "results/synthetic/article"
        numbers = len(json.loads((out / "numbers.json").read_bytes())["numbers"])
        rows = size.arms * size.workloads * size.seeds * size.requests
        print(f"{numbers:,} numbers over {rows:,} request rows")
        processor = used.ru_utime + used.ru_stime
        print(f"{seconds:.1f} s, {processor:.1f} s of processor, {mebibytes:.0f} MiB")
        for file in sorted(out.iterdir()):
            if file.is_file():
                print(f"  {file.name:16} {file.stat().st_size / 2**20:6.2f} MiB")
    sys.exit(seconds > SECONDS or mebibytes > MEBIBYTES)


def _large_study(size: argparse.Namespace) -> SyntheticStudy:
    arms = ["plain", "ngram", "ngram-matched", "drafter"]
    arms += [f"sweep-{number}" for number in range(len(arms), size.arms)]
    return SyntheticStudy(
        arms=arms,
        workloads={f"workload-{number}": [1] for number in range(size.workloads)},
        seeds=list(range(1, size.seeds + 1)),
        requests=size.requests,
        unusable=None,
        not_run=None,
    )


if __name__ == "__main__":
    main()
