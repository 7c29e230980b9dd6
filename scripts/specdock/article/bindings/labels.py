"""Names and lists: what a template loops over, and the words that the plan and the data supply."""

from collections.abc import Sequence

from specdock.article.bindings.names import ROLES, Names
from specdock.article.printed import Label
from specdock.article.study import Arm, Row, Scenario
from specdock.article.words import NOT_RUN, meaning

TEXTS = ("title", "question", "hardware")


class Labels:
    """Bindings that print no figure."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study

    def arms(self, role: str | None = None) -> list[Arm]:
        """The arms of one role; or all, those with a role first in the order of roles."""
        if role is not None:
            return [self._study.arms[name] for name in self._names.role(role)]
        with_role = [name for role in ROLES for name in self._names.role(role)]
        return [self._study.arms[name] for name in dict.fromkeys([*with_role, *self._study.arms])]

    def scenarios(
        self,
        *,
        streams: int | None = None,
        several: bool | None = None,
        graded: bool | None = None,
    ) -> list[Scenario]:
        """The scenarios of the plan, or those at one concurrency, with several streams, graded."""
        return [
            scenario
            for scenario in self._study.scenarios.values()
            if streams in (None, scenario.streams)
            and several in (None, scenario.streams > 1)
            and graded in (None, scenario.graded)
        ]

    def has(self, *roles: str) -> bool:
        """Whether each of these roles is played by some arm."""
        return all([bool(self._names.role(role)) for role in roles])

    def label(self, thing: Arm | Scenario | str) -> Label:
        """The name of an arm or of a role's arms, the title of a scenario, or a text of the plan:
        title, question, hardware."""
        return Label(self._text(thing))

    def listing(self, things: Sequence[Arm | Scenario]) -> Label:
        """Names in a sentence: `essays, 1 stream; code, 1 stream`."""
        return Label("; ".join(self._text(thing) for thing in things))

    def roles_of(self, arm: Arm) -> Label:
        """The roles that an arm plays, or a dash."""
        return Label(", ".join(r for r in ROLES if arm.name in self._names.role(r)) or "–")

    def metric(self, name: str, form: str = "label") -> Label:
        """The name of a metric. Forms: label, head (label and unit), definition."""
        known = self._names.metric(name)
        head = f"{known.label}, {known.unit}" if known.unit else known.label
        forms = {"label": known.label, "head": head, "definition": known.definition}
        if form not in forms:
            raise self._names.unknown("form", form, forms)
        return Label(forms[form])

    def note(self, arm: Arm) -> Label:
        """What the study's config says of an arm; empty if nothing."""
        return Label(arm.spec.get("note") or "")

    def codes(self, kind: str) -> list[str]:
        """Codes that some cell carries, the commonest first. Kinds: reasons, remarks."""
        if kind not in ("reasons", "remarks"):
            raise self._names.unknown("kind of code", kind, ["reasons", "remarks"])
        carried = [code for row in self._study.cells.values() for code in row[kind] or []]
        return sorted(set(carried), key=lambda code: (-carried.count(code), code))

    def meaning(self, code: str) -> Label:
        """What a reason or remark code says."""
        return Label(meaning(code))

    def where(self, code: str) -> Label:
        """The arms whose cells carry a code."""
        rows = [row for row in self._study.cells.values() if code in _codes(row)]
        return Label(", ".join(dict.fromkeys(row["arm"] for row in rows)))

    def caveats(self) -> list[Label]:
        """Caveats that the study's config states."""
        return [Label(text) for text in self._study.plan["caveats"]]

    def engine_notes(self) -> list[Label]:
        """What config says of an engine's origin, once per engine that an arm uses."""
        notes = {
            arm.spec["engine_name"]: arm.spec["engine"]["note"]
            for arm in self._study.arms.values()
            if arm.spec["engine"]["note"]
        }
        return [Label(f"{engine}: {text}") for engine, text in sorted(notes.items())]

    def _text(self, thing: Arm | Scenario | str) -> str:
        if isinstance(thing, Arm):
            return thing.name
        if isinstance(thing, Scenario):
            return thing.title
        if thing in ROLES:
            return ", ".join(self._names.role(thing)) or NOT_RUN
        if thing in TEXTS:
            return self._study.plan[thing]
        raise self._names.unknown("name", thing, [*ROLES, *TEXTS])


def _codes(row: Row) -> list[str]:
    return [*(row["reasons"] or []), *(row["remarks"] or [])]
