"""What each knob did: arms one factor away from a base, by size of effect, against the noise."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from specdock.claims.intervals import LEVEL, ratio
from specdock.claims.verdicts import verdicts


class Sweep(NamedTuple):
    """Effects and the noise that they stand in.

    `effects` has a row per arm, largest effect first: arm, value (ratio to the base), low, high,
    runs, basis, verdict. `noise` is how far two equal arms may differ here by chance, as a share
    (0.03: 3 %, in 95 of 100 comparisons), NaN without replicates.
    """

    effects: pd.DataFrame
    noise: float


def sweep(
    arms: list[str], values: ArrayLike, base: ArrayLike, band: float, higher_is_better: bool | None
) -> Sweep:
    """Effects of the arms against the base; values [arms, runs], base [runs], NaN for missing.

    The noise band pools the arms' variances on the log scale (one-way analysis of variance), so it
    is steadier than any arm's own interval; each row's interval is still its own.
    """
    values, base = np.asarray(values, dtype=float), np.asarray(base, dtype=float)
    found = ratio(values, base)
    effects = pd.DataFrame(
        {
            "arm": arms,
            "value": found.value,
            "low": found.low,
            "high": found.high,
            "runs": found.runs,
            "basis": found.basis,
            "verdict": verdicts(found, band, higher_is_better),
        }
    ).sort_values("value", key=lambda column: -np.abs(np.log(column)), ignore_index=True)
    return Sweep(effects, _noise(np.vstack([base, values])))


def _noise(values: np.ndarray) -> float:
    logs = np.log(values)
    runs = np.sum(~np.isnan(logs), axis=1)
    df = int(np.sum(runs[runs > 0] - 1))
    if df == 0:
        return float("nan")
    centered = logs - np.nansum(logs, axis=1, keepdims=True) / np.maximum(runs, 1)[:, None]
    variance = np.nansum(centered**2) / df
    typical = np.median(runs[runs > 1])
    return float(np.expm1(stdtrit(df, (1 + LEVEL) / 2) * np.sqrt(2 * variance / typical)))
