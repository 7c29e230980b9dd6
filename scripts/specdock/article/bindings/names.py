"""How a template's names are understood: arms, roles, scenarios, metrics and forms of the study."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import get_args

from specdock.article.figures import Placed
from specdock.article.forms import Form
from specdock.article.printed import Register, TemplateError, here
from specdock.article.study import Arm, Scenario, Study
from specdock.plan.models import Role
from specdock.tables.schema import METRICS, Metric

ROLES: tuple[str, ...] = get_args(Role)


class Names:
    """A study, the register of its printed numbers, its placed figures, and the names they share.

    Every method raises `TemplateError` with the template's line, what was found, what is allowed.
    """

    def __init__(self, study: Study, register: Register):
        self.study = study
        self.register = register
        self.figures: list[Placed] = []

    def arm(self, arm: Arm | str | None, role: str | None = None) -> str:
        """The arm's name; a role that no arm plays stands for itself and has no data."""
        if (arm is None) == (role is None):
            raise TemplateError(f"{here()}: give an arm or a role, and not both")
        if isinstance(arm, Arm):
            return arm.name
        if arm is not None and arm not in ROLES:
            return self._one_of("arm or role", arm, self.study.arms)
        names = self.role(role or arm)
        if len(names) > 1:
            raise TemplateError(
                f"{here()}: the role {role or arm} is played by {len(names)} arms "
                f'({", ".join(names)}); loop over arms("{role or arm}") and give arm='
            )
        return names[0] if names else f"role={role or arm}"

    def role(self, role: str) -> list[str]:
        """The names of the arms that play a role; empty if the study gives it to none."""
        return self.study.roles.get(self._one_of("role", role, ROLES), [])

    def scenario(self, scenario: Scenario | str) -> str:
        """The scenario's id."""
        if isinstance(scenario, Scenario):
            return scenario.id
        return self._one_of("scenario", scenario, self.study.scenarios)

    def metric(self, metric: str) -> Metric:
        """What a metric stands for."""
        return METRICS[self._one_of("metric", metric, METRICS)]

    def form(self, form: str, forms: dict[str, Form]) -> Form:
        """One of the forms that a binding has."""
        return forms[self._one_of("form", form, forms)]

    def unknown(self, what: str, found: str, allowed: Iterable[str]) -> TemplateError:
        """The error for a name that nothing knows."""
        names = sorted(allowed)
        near = get_close_matches(str(found), names, n=1)
        lines = [
            f"{here()}: unknown {what}",
            f"  found    {found}",
            f"  allowed  {', '.join(names) or 'none'}",
            *(f"  did you mean {name}?" for name in near),
        ]
        return TemplateError("\n".join(lines))

    def _one_of(self, what: str, found: str, allowed: Iterable[str]) -> str:
        if found not in allowed:
            raise self.unknown(what, found, allowed)
        return found
