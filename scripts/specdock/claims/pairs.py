"""Which arms are worth comparing."""

from collections.abc import Mapping
from itertools import pairwise

# Every arm is compared with the arms in these roles.
_BASES = ("reference", "incumbent", "matched", "control", "candidate")


def pairs_of(plan: Mapping) -> list[tuple[str, str]]:
    """Pairs (arm, against) worth comparing: each arm with the role arms, each step of the chain."""
    pairs = [(arm, base) for base in bases_of(plan) for arm in plan["arms"] if arm != base]
    chain = plan["chain"]
    pairs += [(after, before) for before, after in pairwise(chain)]
    pairs += [(gate["arm"], gate["against"]) for gate in plan["gates"] if gate["against"]]
    return list(dict.fromkeys(pairs))


def bases_of(plan: Mapping) -> list[str]:
    """The arms that others are compared with, in the order of their roles, each once."""
    arms = [arm for role in _BASES for arm in _listed(plan["roles"].get(role))]
    return list(dict.fromkeys(arms))


def _listed(value: str | list[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else value
