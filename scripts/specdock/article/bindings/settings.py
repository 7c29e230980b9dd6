"""What was configured, and what the engine made of it: plan values, session facts, log evidence."""

import json
from operator import itemgetter
from statistics import mean
from typing import get_args

from pydantic import BaseModel

from specdock.article.bindings.names import Names
from specdock.article.forms import Form
from specdock.article.printed import Link, Number, Printed
from specdock.article.study import Arm, Scenario
from specdock.article.words import NOT_APPLICABLE, NOT_RUN
from specdock.plan.spec import ArmSpec, ScenarioSpec
from specdock.tables.schema import SESSIONS

BUDGET = ("memory_utilization", "kv_cache_gib", "request_slots")


class Settings:
    """Bindings of plan.json, tables/sessions.parquet and the engines' logs."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study

    def setting(
        self,
        path: str,
        *,
        arm: Arm | str | None = None,
        role: str | None = None,
        scenario: Scenario | str | None = None,
        form: str = "value",
    ) -> Printed:
        """A configuration value by its dotted path in plan.json; with an arm, role or scenario the
        path starts at its spec. Forms: value, percent."""
        forms = {"value": Form(), "percent": Form(scale=100, suffix=" %")}
        made = self._names.form(form, forms)
        name, prefix, spec, model = self._start(arm, role, scenario)
        value = self._at(path, spec, model)
        key = ".".join([*prefix, path])
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
        words = NOT_RUN if spec is None else _plain(value)
        number = Number(
            id=f"setting/{key}" + ("" if form == "value" else f"/{form}"),
            kind="setting",
            title=f"{path.replace('_', ' ').replace('.', ', ')}, {name or 'this study'}",
            link=Link(self._study.file("plan.json"), key),
            form=made,
            form_name=form,
            value=value if numeric else None,
            words="" if numeric else words,
            digits=_decimals(value * made.scale) if numeric else 0,
            pinned=True,
        )
        return self._names.register.add(number)

    def same_budget(self, arm: Arm, other: Arm) -> bool:
        """Whether two arms were given the same memory and request slots, for conditions."""
        given = [each.spec["serve"] for each in (arm, other)]
        return all(given[0].get(key) == given[1].get(key) for key in BUDGET)

    def in_seeded_order(self) -> bool:
        """Whether engines were started in the order that the seeds draw, for conditions; what was
        started several times counts by the first."""
        starts = sorted(self._study.sessions.values(), key=itemgetter("started_at"))
        places = [*dict.fromkeys(row["order"] for row in starts)]
        return places == sorted(places)

    def started(
        self,
        column: str,
        *,
        arm: Arm | str | None = None,
        role: str | None = None,
        form: str = "value",
    ) -> Printed:
        """A column of the session table, of one arm or of all: the mean over starts, or the texts
        that they state; `host.processor` is a key of a JSON column.

        Forms: value, with_unit, spread (smallest to largest start).
        """
        name, _, key = column.partition(".")
        if name not in SESSIONS.names:
            raise self._names.unknown("session column", name, SESSIONS.names)
        unit = SESSIONS.field(name).metadata[b"unit"].decode()
        suffix = f" {unit}".rstrip()
        forms = {"value": Form(), "with_unit": Form(suffix=suffix), "spread": Form("interval")}
        made = self._names.form(form, forms)
        every = arm is None and role is None
        served = "every-arm" if every else self._names.arm(arm, role)
        starts = [row for row in self._study.sessions.values() if every or row["arm"] == served]
        values = [json.loads(row[name]).get(key) if key else row[name] for row in starts]
        known = [value for value in values if value is not None]
        number = Number(
            id=f"session/{served}/{column}" + ("" if form == "value" else f"/{form}"),
            kind="session",
            title=f"{column.replace('_', ' ').replace('.', ', ')}, {served}",
            link=Link(
                self._study.file("tables/sessions.parquet"),
                f"column={column}" if every else f"arm={served} column={column}",
            ),
            form=made,
            form_name=form,
            digits=0 if all(isinstance(value, int) for value in known) else 1,
            arm="" if every else served,
            unit=unit,
            seeds=len(known),
            sessions=tuple(row["session"] for row in starts),
            **_summary(known, form, bool(starts)),
        )
        return self._names.register.add(number)

    def evidence(
        self, fact: str, *, arm: Arm | str | None = None, role: str | None = None
    ) -> Printed:
        """What the engines' logs of one arm state of a fact."""
        name = self._names.arm(arm, role)
        found = [
            (row, item)
            for row in self._study.sessions.values()
            if row["arm"] == name
            for item in row["evidence"] or []
            if item["fact"] == fact
        ]
        link = Link(self._study.file("tables/sessions.parquet"), f"arm={name} evidence={fact}")
        if found:
            link = Link(found[0][0]["log_file"], f"line {found[0][1]['line']}")
        number = Number(
            id=f"evidence/{name}/{fact}",
            kind="evidence",
            title=f"{fact.replace('_', ' ')}, {name}",
            link=link,
            words=", ".join(dict.fromkeys(item["value"] for _, item in found)) or "not in the log",
            arm=name,
            sessions=tuple(dict.fromkeys(row["session"] for row, _ in found)),
            quotation=found[0][1]["text"] if found else "",
        )
        return self._names.register.add(number)

    def _start(
        self, arm: Arm | str | None, role: str | None, scenario: Scenario | str | None
    ) -> tuple[str, list[str], dict | None, type[BaseModel] | None]:
        """Name, key prefix, values and schema of what a path starts at."""
        if scenario is not None:
            name = self._names.scenario(scenario)
            spec = self._study.scenarios[name].spec
            return name, ["scenarios", name], spec, ScenarioSpec
        if arm is None and role is None:
            return "", [], self._study.plan, None
        name = self._names.arm(arm, role)
        known = self._study.arms.get(name)
        return name, ["arms", name], known.spec if known else None, ArmSpec

    def _at(self, path: str, value: object, model: type[BaseModel] | None) -> object:
        """The value at a path; None where it is left out, or where there is nothing to start at."""
        keys = path.split(".")
        if model and not _in_schema(model, keys):
            raise self._names.unknown("setting", path, model.model_fields)
        for key in keys:
            if value is None or (model and key not in value):
                return None
            if not isinstance(value, dict) or key not in value:
                raise self._names.unknown("setting", path, value if isinstance(value, dict) else ())
            value = value[key]
        return value


def _in_schema(model: type[BaseModel], keys: list[str]) -> bool:
    """Whether the model has a field at this path; a free-form mapping has every key."""
    if keys[0] not in model.model_fields:
        return False
    kind = model.model_fields[keys[0]].annotation
    options = [kind, *get_args(kind)]
    inner = [t for t in options if isinstance(t, type) and issubclass(t, BaseModel)]
    if len(keys) == 1 or not inner:
        return True
    return any(_in_schema(option, keys[1:]) for option in inner)


def _summary(known: list, form: str, ran: bool) -> dict:
    if not known:
        return {"words": NOT_APPLICABLE if ran else NOT_RUN}
    if not isinstance(known[0], (int, float)):
        return {"words": ", ".join(dict.fromkeys(map(str, known)))}
    if form == "spread":
        return {"low": min(known), "high": max(known), "method": "smallest to largest start"}
    return {"value": mean(known), "method": "mean over starts"}


def _plain(value: object) -> str:
    """A configuration value as text."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)


def _decimals(value: float) -> int:
    """Decimals that a configuration value was written with."""
    return len(str(round(float(value), 9)).partition(".")[2].rstrip("0"))
