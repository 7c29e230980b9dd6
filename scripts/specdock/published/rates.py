"""Published timings: how long a campaign lasts, before anything of it is measured."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Literal

from specdock.published.ledger import load_ledger


def published_timings(
    root: Path,
    name: str,
    metric: Literal["output_rate", "latency_mean"],
    arms: list[str],
    scenarios: list[str],
    stands_for: Mapping[str, str],
) -> dict[tuple[str, str], float]:
    """Output rate in tok/s, or seconds a request, by (arm, scenario) from the ledger `name`.

    `stands_for` is the study's. An arm without a figure of its own gets the mean over the published
    arms that have one in the scenario; scenarios without any figure are left out.
    """
    figures: dict[str, dict[str, list[float]]] = {}
    for figure in load_ledger(root, name).figures:
        if (figure.metric, figure.form, figure.bound) == (metric, "value", None):
            scenario = stands_for.get(figure.scenario, figure.scenario)
            figures.setdefault(scenario, {}).setdefault(figure.arm, []).append(figure.value)
    timings = {}
    for scenario in figures.keys() & set(scenarios):
        own = {arm: mean(values) for arm, values in figures[scenario].items()}
        timings |= {(arm, scenario): own.get(arm, mean(own.values())) for arm in arms}
    return timings
