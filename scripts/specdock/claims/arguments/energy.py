"""Energy, measured twice: by the card's own counter and by integrating samples of its power."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa

from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
)
from specdock.claims.intervals import mean_over_runs, ratio
from specdock.columns import column
from specdock.runs.power import PERIOD_SECONDS
from specdock.tables.validity import ENERGY_TOLERANCE

# Seconds of a window below which a period at each end is beyond the tolerance.
_SHORT = 2 * PERIOD_SECONDS / ENERGY_TOLERANCE
AGREE, DIFFER, NOT_COMPARABLE = "agree", "differ", "not comparable"
ENERGY = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "arm"),
        column("counter", pa.float64(), "energy of the window by the card's counter", "J"),
        column("trapezoid", pa.float64(), "the same by integrated samples of power", "J"),
        *with_interval("ratio", "integrated samples over the counter"),
        column("coverage", pa.float64(), "share of the window that samples cover, least of starts"),
        column("tolerance", pa.float64(), "how far both may differ, fixed in code"),
        column("verdict", pa.string(), "whether both agree in every start"),
        column("why", pa.string(), "what keeps them from being compared, or from agreeing"),
        *BEHIND,
    ]
)


def energy(measured: Measured) -> Iterator[dict]:
    """Rows of `ENERGY`, where a card's energy was measured in at least one way."""
    ways = ["energy_counter", "energy_trapezoid"]
    cells = measured.cells.dropna(subset=ways, how="all")
    for scenario, arm in product(measured.scenarios, measured.arms):
        own = cells[(cells["scenario"] == scenario) & (cells["arm"] == arm)]
        if own.empty:
            continue
        counter, trapezoid = (measured.values(way, [arm], [scenario])[0, 0] for way in ways)
        found = ratio(trapezoid, counter)
        verdict, why = _verdict(own)
        yield {
            "scenario": scenario,
            "arm": arm,
            "counter": number(mean_over_runs(counter).value),
            "trapezoid": number(mean_over_runs(trapezoid).value),
            **spelled("ratio", found),
            "coverage": number(own["energy_coverage"].min()),
            "tolerance": ENERGY_TOLERANCE,
            "verdict": verdict,
            "why": why,
            **based_on(found),
            **measured.behind([arm], [scenario]),
        }


def _verdict(cells: pd.DataFrame) -> tuple[str, str | None]:
    counter, trapezoid = (
        cells[way].to_numpy(float) for way in ("energy_counter", "energy_trapezoid")
    )
    if np.isnan(counter).any():
        return NOT_COMPARABLE, "the counter was not read before and after each window"
    if np.isnan(trapezoid).any():
        return NOT_COMPARABLE, "a window has no samples of power"
    most = ENERGY_TOLERANCE * np.maximum(counter, trapezoid)
    if (np.abs(counter - trapezoid) <= most).all():
        return AGREE, None
    if cells["wall"].min() < _SHORT:
        return DIFFER, "some window is so short that a sampling period at each end matters"
    if cells["energy_coverage"].min() < 1 - ENERGY_TOLERANCE:
        return DIFFER, "the samples cover a part of some window, the counter all of it"
    return DIFFER, "not known: both cover every window"
