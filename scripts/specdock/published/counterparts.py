"""What here stands for a published quantity or scenario, and what keeps it from being the same."""

from collections.abc import Mapping

from specdock.published.ledger import Figure

# Published quantities that have another name here; the ledger's definition says if they differ.
_METRICS = {"acceptance_length": "al_counter"}


def our_metric(metric: str) -> str:
    """The name here of a published quantity; no metric of ours if it has none."""
    return _METRICS.get(metric, metric)


def our_scenario(scenario: str | None, plan: Mapping) -> str | None:
    """The scenario of a resolved study that stands for a published one."""
    return plan["stands_for"].get(scenario, scenario)


def difference(figure: Figure, definition: str, plan: Mapping) -> str | None:
    """Why ours is not the same quantity: another definition, or what the study says it does
    otherwise; None if nothing is known."""
    found = [plan["differs"].get(figure.arm), plan["differs"].get(figure.scenario)]
    if figure.definition not in (None, definition):
        found.append(f"published as {figure.definition}, ours is {definition}")
    return "; ".join(filter(None, found)) or None
