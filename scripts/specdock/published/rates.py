"""Published output rates: how long a campaign lasts, before anything of it is measured."""

from pathlib import Path
from statistics import mean

from specdock.published.ledger import load_ledger


def published_rates(
    root: Path, name: str, arms: list[str], scenarios: list[str]
) -> dict[tuple[str, str], float]:
    """Output rate in tok/s by (arm, scenario), from the ledger `name`.

    An arm without a figure of its own gets the mean over the arms that have one in the scenario;
    scenarios without any figure are left out.
    """
    figures: dict[tuple[str, str], list[float]] = {}
    for figure in load_ledger(root, name).figures:
        if (figure.metric, figure.form, figure.bound) == ("output_rate", "value", None):
            figures.setdefault((figure.arm, figure.scenario), []).append(figure.value)
    rates = {}
    for scenario in scenarios:
        own = {arm: mean(figures[arm, scenario]) for arm in arms if (arm, scenario) in figures}
        if own:
            rates |= {(arm, scenario): own.get(arm, mean(own.values())) for arm in arms}
    return rates
