"""What each knob did: arms beside the arms that they vary, by size of effect, and the noise."""

from collections.abc import Mapping
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
    values: Mapping[str, ArrayLike],
    bases: Mapping[str, str],
    band: float,
    higher_is_better: bool | None,
) -> Sweep:
    """Effects of arms, each against its base of `bases`; values [runs] by arm, NaN for missing.

    The noise band pools the variances of all arms on the log scale (one-way analysis of variance),
    so it is steadier than any arm's own interval; each row's interval is still its own.
    """
    arms = list(bases)
    runs = {arm: np.asarray(own, dtype=float) for arm, own in values.items()}
    found = ratio(np.stack([runs[a] for a in arms]), np.stack([runs[bases[a]] for a in arms]))
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
    pooled = dict.fromkeys([*bases.values(), *arms])
    return Sweep(effects, _noise(np.stack([runs[arm] for arm in pooled])))


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
