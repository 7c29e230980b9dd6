"""Where the speed came from: a chain of arms as a waterfall of ratios, and what each step changed.

Levels are geometric means over runs, so the steps' ratios multiply to the whole exactly.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specdock.claims.intervals import Estimate, StatisticsError, ratio

# The longest prefix of a path names the factor; paths are those of a resolved arm.
_FACTORS: dict[tuple[str, ...], str] = {
    ("engine_name",): "engine",
    ("engine",): "engine",
    ("environment",): "engine",
    ("target",): "target",
    ("drafter",): "drafter",
    ("speculation",): "speculation",
    ("speculation", "drafter"): "drafter",
    ("speculation", "drafter_quantization"): "drafter precision",
    ("serve",): "flags",
    ("serve", "memory_utilization"): "memory",
    ("serve", "kv_cache_gib"): "memory",
    ("serve", "request_slots"): "slots",
    ("serve", "graphs"): "graphs",
    ("variables",): "environment variables",
}
# What names or watches an arm without changing what it does.
_LABELS = {"name", "note", "evidence", "ready_timeout"}


class Waterfall(NamedTuple):
    """`steps` has one ratio per link of the chain, `total` is last over first, and `share` is each
    step's part of the total's logarithm (NaN where first and last are equal)."""

    steps: Estimate
    total: Estimate
    share: NDArray[np.float64]


class Change(NamedTuple):
    """One differing value; `before` or `after` is None where the key is absent."""

    factor: str
    path: str
    before: object
    after: object


def waterfall(values: ArrayLike) -> Waterfall:
    """Decompose a chain of arms; values [arms in chain order, ..., runs], NaN for missing cells."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        raise StatisticsError(f"a chain has at least two arms, found {len(values)}")
    steps = ratio(values[1:], values[:-1])
    total = ratio(values[-1], values[0])
    whole = np.log(total.value)
    share = np.divide(
        np.log(steps.value), whole, out=np.full(steps.value.shape, np.nan), where=whole != 0
    )
    return Waterfall(steps, total, share)


def changed_factors(spec_a: Mapping, spec_b: Mapping) -> list[Change]:
    """What differs between two resolved arms (nested mappings), by factor, then by path.

    A change of `speculation.method` brings its own drafter and draft length: all of it is one
    factor then. Another checkpoint of the same model in another precision is no other model. A step
    of a chain is clean when the result has exactly one distinct factor.
    """
    flat_a, flat_b = _flatten(spec_a), _flatten(spec_b)
    method = ("speculation", "method")
    new_method = flat_a.get(method) != flat_b.get(method)
    requantised = [part for part in ("target", "drafter") if _requantised(flat_a, flat_b, part)]
    changes = []
    for path in flat_a.keys() | flat_b.keys():
        before, after = flat_a.get(path), flat_b.get(path)
        if before == after or path[0] in _LABELS:
            continue
        factor = _factor(path)
        if factor in requantised:
            factor = f"{factor} precision"
        if new_method and path[0] in ("drafter", "speculation"):
            factor = "speculation"
        changes.append(Change(factor, ".".join(path), before, after))
    return sorted(changes, key=lambda change: (change.factor, change.path))


def factors(changes: list[Change]) -> tuple[str, ...]:
    """The distinct factors of a step; one for a clean step."""
    return tuple(dict.fromkeys(change.factor for change in changes))


def _requantised(flat_a: Mapping, flat_b: Mapping, part: str) -> bool:
    """Whether a part is the same model in both arms, by config, and its precision is not."""
    model, precision = ((part, "checkpoint", key) for key in ("model", "precision"))
    same = flat_a.get(model) is not None and flat_a.get(model) == flat_b.get(model)
    return same and flat_a.get(precision) != flat_b.get(precision)


def _factor(path: tuple[str, ...]) -> str:
    for length in range(len(path), 0, -1):
        if path[:length] in _FACTORS:
            return _FACTORS[path[:length]]
    return path[0]


def _flatten(spec: Mapping, prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    flat: dict[tuple[str, ...], object] = {}
    for key, value in spec.items():
        path = (*prefix, str(key))
        if isinstance(value, Mapping):
            flat |= _flatten(value, path)
        elif value is not None:
            flat[path] = value
    return flat
