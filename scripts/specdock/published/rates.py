"""Published timings: how long a campaign lasts, before anything of it is measured."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Literal

from specdock.published.ledger import Figure


def published_timings(
    published: Sequence[Figure],
    metric: Literal["output_rate", "latency_mean"],
    arms: list[str],
    scenarios: list[str],
    stands_for: Mapping[str, str],
) -> dict[tuple[str, str], float]:
    """Output rate in tok/s, or seconds a request, by (arm, scenario).

    `stands_for` is the study's. An arm without a figure of its own gets the mean over the published
    arms that have one in the scenario; scenarios without any figure are left out.
    """
    figures: dict[str, dict[str, list[float]]] = {}
    for figure in published:
        if (figure.metric, figure.form, figure.bound) == (metric, "value", None):
            scenario = stands_for.get(figure.scenario, figure.scenario)
            figures.setdefault(scenario, {}).setdefault(figure.arm, []).append(figure.value)
    timings = {}
    for scenario in figures.keys() & set(scenarios):
        own = {arm: mean(values) for arm, values in figures[scenario].items()}
        timings |= {(arm, scenario): own.get(arm, mean(own.values())) for arm in arms}
    return timings


def published_token_seconds(published: Sequence[Figure], arms: list[str]) -> dict[str, float]:
    """Seconds a token at one stream by arm: from TPOT, also of a range, and from output rates.

    An arm without a figure of its own gets the mean over the arms of the study that have one; where
    none has, the result is empty.
    """
    found: dict[str, list[float]] = {}
    for figure in published:
        alone = (figure.scenario or "@1").endswith("@1")
        if figure.arm not in arms or figure.form != "value" or not alone:
            continue
        if figure.metric == "tpot_median":
            found.setdefault(figure.arm, []).append(figure.value / 1000)
        elif figure.metric == "output_rate" and figure.scenario:
            found.setdefault(figure.arm, []).append(1 / figure.value)
    own = {arm: mean(values) for arm, values in found.items()}
    return {arm: own.get(arm, mean(own.values())) for arm in arms} if own else {}
