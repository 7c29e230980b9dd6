"""The engine's own counters over a cell's window: /metrics after minus /metrics before."""

from collections import defaultdict

from prometheus_client.parser import text_string_to_metric_families


def counter_values(text: str, names: dict[str, str]) -> dict[str, float | dict[int, float]]:
    """Values of the named counters in a /metrics text, summed over label sets.

    `names` maps our name to the engine's. A counter with a `position` label comes as a mapping of
    position to value. Counters that the text lacks are absent from the answer.
    """
    wanted = {theirs: ours for ours, theirs in names.items()}
    plain: dict[str, float] = defaultdict(float)
    positions: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = wanted.get(sample.name)
            if name is None:
                continue
            if "position" in sample.labels:
                positions[name][int(sample.labels["position"])] += sample.value
            else:
                plain[name] += sample.value
    return dict(plain) | {name: dict(values) for name, values in positions.items()}


def counter_deltas(before: str, after: str, names: dict[str, str]) -> dict:
    """What each counter grew by between two /metrics texts; a counter born in between from zero."""
    start, end = counter_values(before, names), counter_values(after, names)
    deltas: dict = {}
    for name, value in end.items():
        if isinstance(value, dict):
            base = start.get(name, {})
            deltas[name] = {p: v - base.get(p, 0.0) for p, v in sorted(value.items())}
        else:
            deltas[name] = value - start.get(name, 0.0)
    return deltas
