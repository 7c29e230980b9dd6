"""Levels of every arm and comparisons of every pair, from the table of cells, as tidy frames."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specdock.claims.intervals import (
    Estimate,
    Scale,
    StatisticsError,
    difference,
    mean_over_runs,
    ratio,
)
from specdock.claims.verdicts import seeds_to_decide, verdicts
from specdock.tables.schema import METRICS

# Metrics that are shares or counts and may be zero: compared by difference.
_BY_DIFFERENCE = {"accuracy", "correct", "acceptance_rate", "card_busy"}


def scale_of(metric: str) -> Scale:
    """Shares and counts are averaged and compared as they are, all else on the log scale."""
    return Scale.LINEAR if metric in _BY_DIFFERENCE else Scale.LOG


def cell_values(
    cells: pd.DataFrame,
    metric: str,
    arms: Sequence[str],
    scenarios: Sequence[str],
    seeds: Sequence[int],
) -> NDArray[np.float64]:
    """Array [arms, scenarios, seeds] of usable cells, NaN elsewhere.

    `cells` has the columns arm, scenario, seed, usable and the metric (tables/schema.py, CELLS).
    Raises StatisticsError where a metric that is compared by ratio is not positive.
    """
    usable = cells[cells["usable"]]
    if scale_of(metric) is Scale.LOG and (usable[metric] <= 0).any():
        cell = usable[usable[metric] <= 0].iloc[0]
        raise StatisticsError(
            f"cells: {metric} of {cell['arm']}/{cell['scenario']}, seed {cell['seed']}\n"
            f"  found    {cell[metric]:g}\n"
            "  allowed  a positive value, or none where it was not measured"
        )
    places = [
        pd.Index(names).get_indexer(usable[column])
        for names, column in ((arms, "arm"), (scenarios, "scenario"), (seeds, "seed"))
    ]
    inside = np.all([place >= 0 for place in places], axis=0)
    values = np.full((len(arms), len(scenarios), len(seeds)), np.nan)
    values[tuple(place[inside] for place in places)] = usable[metric].to_numpy(float)[inside]
    return values


def levels(
    cells: pd.DataFrame,
    metrics: Iterable[str],
    arms: Sequence[str],
    scenarios: Sequence[str],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """One row per arm, scenario and metric that has a value.

    Columns: arm, scenario, metric, definition, value, low, high, spread, runs, basis.
    """
    frames = []
    for metric in metrics:
        found = mean_over_runs(cell_values(cells, metric, arms, scenarios, seeds), scale_of(metric))
        keys = pd.MultiIndex.from_product([arms, scenarios], names=["arm", "scenario"])
        frames.append(_tidy(found, keys, metric))
    return pd.concat(frames, ignore_index=True)


def compare(
    cells: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    bands: Mapping[str, float],
    metrics: Iterable[str],
    scenarios: Sequence[str],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """One row per pair (arm, against), scenario and metric that both arms have.

    Columns: arm, against, scenario, metric, definition, kind (ratio or difference), value, low,
    high, spread, runs, basis, band, verdict, more_seeds, outlook. A metric without a band in config
    has none: it can be better or worse, never equivalent.
    """
    arms = list(dict.fromkeys(name for pair in pairs for name in pair))
    row = {name: i for i, name in enumerate(arms)}
    left, right = ([row[pair[side]] for pair in pairs] for side in (0, 1))
    keys = pd.MultiIndex.from_tuples(
        [(*pair, scenario) for pair in pairs for scenario in scenarios],
        names=["arm", "against", "scenario"],
    )
    frames = []
    for metric in metrics:
        values = cell_values(cells, metric, arms, scenarios, seeds)
        relative = scale_of(metric) is Scale.LOG
        found = (ratio if relative else difference)(values[left], values[right])
        band = bands.get(metric, 0.0)
        more, outlook = seeds_to_decide(found, band)
        frames.append(
            _tidy(
                found,
                keys,
                metric,
                kind="ratio" if relative else "difference",
                band=band,
                verdict=verdicts(found, band, METRICS[metric].higher_is_better).ravel(),
                more_seeds=more.ravel(),
                outlook=outlook.ravel(),
            )
        )
    return pd.concat(frames, ignore_index=True)


def _tidy(found: Estimate, keys: pd.MultiIndex, metric: str, **more: object) -> pd.DataFrame:
    frame = keys.to_frame(index=False).assign(
        metric=metric,
        definition=METRICS[metric].definition,
        value=found.value.ravel(),
        low=found.low.ravel(),
        high=found.high.ravel(),
        spread=found.spread.ravel(),
        runs=found.runs.ravel(),
        basis=found.basis.ravel(),
        **more,
    )
    return frame[frame["value"].notna()]
