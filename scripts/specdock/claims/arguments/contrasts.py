"""Arms that answer a question of their own beside an arm with a role: another engine, a quantised
target, a quantised drafter. The resolved specs say which they are, and what else they change."""

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from specdock.claims.arguments.chain import described
from specdock.claims.arguments.measured import Measured
from specdock.claims.decomposition import changed_factors, factors
from specdock.claims.pairs import bases_of
from specdock.columns import column

CONTRASTS = pa.schema(
    [
        column("question", pa.string(), "engine, target precision or drafter precision"),
        column("arm", pa.string(), "arm that asks it"),
        column("against", pa.string(), "arm with a role that is closest to it and differs in this"),
        column("before", pa.string(), "what that arm has: its engine, or a precision"),
        column("after", pa.string(), "what this arm has instead"),
        column("others", pa.string(), "what else this arm changes, by the resolved arms"),
        column("changes", pa.string(), "every value that differs beside"),
        column("clean", pa.bool_(), "nothing else changes"),
    ]
)


def _engine(arm: Mapping) -> str:
    return arm["engine_name"]


def _target_precision(arm: Mapping) -> str:
    return arm["target"]["checkpoint"]["precision"]


def _drafter_precision(arm: Mapping) -> str:
    """As it is loaded, else as its checkpoint keeps it."""
    stored = (arm["drafter"] or {}).get("checkpoint", {}).get("precision")
    return arm["speculation"].get("drafter_quantization") or stored or "as trained"


_QUESTIONS: dict[str, Callable[[Mapping], str]] = {
    "engine": _engine,
    "target precision": _target_precision,
    "drafter precision": _drafter_precision,
}


def contrasts(measured: Measured) -> Iterator[dict]:
    """Rows of `CONTRASTS`: each arm beside the closest arm with a role that drafts alike.

    Arms of the sweep are left out, for they have a base of their own.
    """
    specs = measured.plan["arms"]
    bases = bases_of(measured.plan)
    swept = measured.role("sweep")
    for question, has in _QUESTIONS.items():
        for arm in (arm for arm in measured.arms if arm not in swept):
            # Of two arms with roles, the one that comes first in the order of roles is the base.
            earlier = bases[: bases.index(arm)] if arm in bases else bases
            changes = {base: changed_factors(specs[base], specs[arm]) for base in earlier}
            fit = [
                base
                for base, changed in changes.items()
                if _asks(question, specs[base], specs[arm], factors(changed))
            ]
            if not fit:
                continue
            base = min(fit, key=lambda b: (len(factors(changes[b])), len(changes[b])))
            others = [change for change in changes[base] if change.factor != question]
            told = described(others) if others else {"factors": None, "changes": None}
            yield {
                "question": question,
                "arm": arm,
                "against": base,
                "before": has(specs[base]),
                "after": has(specs[arm]),
                "others": told["factors"],
                "changes": told["changes"],
                "clean": not others,
            }


def _asks(question: str, base: Mapping, arm: Mapping, changed: tuple[str, ...]) -> bool:
    """Whether two arms draft alike and differ in what is asked.

    Another program brings flags and perhaps a file format of its own, and a checkpoint of another
    size another share of memory: such pairs stand, and say so. Another version of the same program
    has to be all that differs.
    """
    if question not in changed or base["speculation"]["method"] != arm["speculation"]["method"]:
        return False
    if question == "engine":
        other_program = base["engine"]["adapter"] != arm["engine"]["adapter"]
        other_model = "drafter" in changed or ("target" in changed and not _same_bytes(base, arm))
        return not other_model and (other_program or len(changed) == 1)
    return not {"engine", "target", "drafter"} & set(changed)


def _same_bytes(base: Mapping, arm: Mapping) -> bool:
    """Whether two targets are made of the same files, which one of them may convert."""
    sources = [each["target"]["checkpoint"].get("source") for each in (base, arm)]
    return sources[0] is not None and sources[0] == sources[1]
