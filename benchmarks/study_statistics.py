"""Time all statistics of a large study: 60 arms x 30 scenarios x 5 seeds, from cells and requests.

    PYTHONPATH=scripts python benchmarks/study_statistics.py

The data are random; only the time is meant. Every part prints its seconds, and the comparisons are
set against the same arithmetic written as a plain loop, on a sample of the pairs. The limit is 60 s
on two cores; over it the exit code is 1.
"""

import math
import sys
from collections.abc import Callable
from itertools import combinations
from statistics import fmean, stdev
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.stats import t

from specdock.claims.accuracy import share_difference
from specdock.claims.bootstrap import pooled, within_run
from specdock.claims.comparisons import compare, levels
from specdock.claims.decomposition import waterfall
from specdock.claims.load import crossing, waits
from specdock.claims.losslessness import first_divergence
from specdock.claims.sweep import sweep
from specdock.tables.acceptance import Steps, by_position, lengths_from_steps
from specdock.tables.schema import METRICS

ARMS, SCENARIOS, SEEDS = 60, 30, 5
LEVELS = [1, 2, 4, 8, 16, 32]
PROMPTS, STEPS, TOKENS = 32, 60, 256
GRADED, PROBLEMS = 4, 200
LIMIT = 60.0

RNG = np.random.default_rng(0)
ARM_NAMES = [f"arm-{i}" for i in range(ARMS)]
SCENARIO_NAMES = [f"scenario-{i}" for i in range(SCENARIOS)]
SEED_NAMES = list(range(SEEDS))
CELL_COUNT = ARMS * SCENARIOS * SEEDS


def cells() -> pd.DataFrame:
    keys = pd.MultiIndex.from_product(
        [ARM_NAMES, SCENARIO_NAMES, SEED_NAMES], names=["arm", "scenario", "seed"]
    )
    values = {metric: RNG.lognormal(3, 0.05, CELL_COUNT) for metric in METRICS}
    return keys.to_frame(index=False).assign(usable=True, **values)


def loop_over(frame: pd.DataFrame, pairs: list[tuple[str, str]]) -> None:
    """The comparisons of `compare` for one metric, value by value."""
    rates = {
        (row.arm, row.scenario, row.seed): row.output_rate for row in frame.itertuples(index=False)
    }
    for arm, against in pairs:
        for scenario in SCENARIO_NAMES:
            logs = [
                math.log(rates[arm, scenario, seed] / rates[against, scenario, seed])
                for seed in SEED_NAMES
            ]
            half = t.ppf(0.975, SEEDS - 1) * stdev(logs) / math.sqrt(SEEDS)
            math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def timed(name: str, work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    seconds = perf_counter() - start
    print(f"{seconds:8.2f} s  {name}", flush=True)
    return seconds


def main() -> int:
    frame = cells()
    every_pair = list(combinations(ARM_NAMES, 2))
    rates = RNG.lognormal(3, 0.05, (ARMS, len(LEVELS), SEEDS))
    grades = RNG.random((ARMS, GRADED, SEEDS, PROBLEMS)) < 0.97
    accepted = RNG.integers(0, 8, (PROMPTS, STEPS))
    drafted = np.full((PROMPTS, STEPS), 7)
    completion = 1 + (accepted + 1).sum(1)
    sent = np.sort(RNG.random(PROMPTS))
    tokens = list(RNG.integers(0, 2, (PROMPTS, TOKENS)))
    one_run = RNG.lognormal(3, 0.3, (2, ARMS * SCENARIOS, PROMPTS))

    def all_comparisons() -> None:
        bands = dict.fromkeys(METRICS, 0.03)
        compare(frame, every_pair, bands, METRICS, SCENARIO_NAMES, SEED_NAMES)

    def per_cell(work: Callable[[], object], count: int) -> Callable[[], None]:
        return lambda: [work() for _ in range(count)] and None

    def acceptance() -> None:
        steps = Steps.from_lists(accepted, drafted)
        lengths_from_steps(completion, steps)
        by_position(steps)

    parts = {
        f"levels, {len(METRICS)} metrics": lambda: levels(
            frame, METRICS, ARM_NAMES, SCENARIO_NAMES, SEED_NAMES
        ),
        f"comparisons of all {len(every_pair)} pairs, {len(METRICS)} metrics": all_comparisons,
        f"accuracy of every arm against one, {GRADED} scenarios": lambda: share_difference(
            grades[1:], np.broadcast_to(grades[:1], grades[1:].shape)
        ),
        "crossings of every arm with one, 5 workloads": lambda: [
            crossing(LEVELS, arm, rates[0]) for arm in rates[1:] for _ in range(5)
        ],
        "waterfall and sweep in every scenario": per_cell(
            lambda: (
                waterfall(rates[:, 0]),
                sweep(ARM_NAMES, rates[:, 0], rates[0, 0], 0.03, True),
            ),
            SCENARIOS,
        ),
        f"acceptance of {CELL_COUNT} cells": per_cell(acceptance, CELL_COUNT),
        f"waits in {CELL_COUNT} cells": per_cell(
            lambda: waits(sent, sent + 0.1, sent + 1, 6), CELL_COUNT
        ),
        f"first divergence in {2 * CELL_COUNT} pairs of cells": per_cell(
            lambda: first_divergence(tokens, tokens), 2 * CELL_COUNT
        ),
        f"within-run intervals of {ARMS * SCENARIOS} cells": lambda: within_run(pooled, *one_run),
    }
    total = sum(timed(name, work) for name, work in parts.items())
    print(f"{total:8.2f} s  in all (limit {LIMIT:.0f} s)")

    sample = every_pair[:: len(every_pair) // 50]
    bands = {"output_rate": 0.03}
    vectorised = timed(
        f"{len(sample)} pairs, one metric, vectorised",
        lambda: compare(frame, sample, bands, ["output_rate"], SCENARIO_NAMES, SEED_NAMES),
    )
    loop = timed("the same in a plain loop, without verdicts", lambda: loop_over(frame, sample))
    print(f"{loop / vectorised:8.1f} x  faster than the loop")
    return int(total > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
