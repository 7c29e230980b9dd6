"""Figures that others stated: facts and published figures, each with its source."""

from specdock.article.bindings.names import Names
from specdock.article.forms import Form
from specdock.article.printed import Label, Link, Number, Printed
from specdock.article.words import NOT_STATED
from specdock.published.facts import FACTS
from specdock.published.ledger import Figure
from specdock.tables.schema import METRICS

FACT_TEXTS = ("title", "source", "date", "quotation", "address")
FIGURE_TEXTS = ("arm", "scenario", "quotation", "file", "note")


class Quotations:
    """Bindings of config/facts.yaml and of the study's file under config/published."""

    def __init__(self, names: Names):
        self._names, self._study = names, names.study
        self._cited: dict[str, str] = {}

    def fact(self, fact_id: str, form: str = "with_unit") -> Printed | Label:
        """A figure of config/facts.yaml.

        Forms: with_unit, value; and as text: title, source, date, quotation, address.
        """
        facts = self._study.facts
        if fact_id not in facts:
            raise self._names.unknown(f"fact in {FACTS}", fact_id, facts)
        fact = facts[fact_id]
        self._cited[fact.source] = fact.address
        if form in FACT_TEXTS:
            return Label(getattr(fact, form))
        number = Number(
            id=f"fact/{fact_id}" + ("" if form == "with_unit" else f"/{form}"),
            kind="fact",
            title=fact.title,
            link=Link(FACTS, fact_id),
            form=self._form(form, fact.unit, FACT_TEXTS),
            form_name=form,
            value=fact.value,
            digits=fact.digits,
            pinned=True,
            unit=fact.unit,
            quotation=fact.quotation,
            source=f"{fact.source}, {fact.date}, {fact.address}",
        )
        return self._names.register.add(number)

    def hardware_fact(self, name: str, form: str = "with_unit") -> Printed | Label:
        """The fact `HARDWARE/name` of the study's hardware, or `not stated`. Forms as `fact`."""
        fact_id = f"{self._study.plan['hardware']}/{name}"
        if fact_id in self._study.facts:
            return self.fact(fact_id, form)
        number = Number(
            id=f"fact/{fact_id}",
            kind="fact",
            title=f"{name.replace('-', ' ')} of {self._study.plan['hardware']}",
            link=Link(FACTS, fact_id),
            words=NOT_STATED,
            reason=f"{FACTS} has no {fact_id}",
        )
        return self._names.register.add(number)

    def hardware_prices(self) -> list[str]:
        """Ids of the facts that state a price of the study's hardware, or of its model line."""
        hardware = self._study.plan["hardware"]
        return [
            fact_id
            for fact_id in self._study.facts
            for line, _, name in [fact_id.partition("/")]
            if name.startswith("price") and hardware.startswith(line)
        ]

    def published(self, figure_id: str, form: str = "with_unit") -> Printed | Label:
        """A figure of one of the study's files under config/published, as it was printed there.

        Forms: with_unit, value; and as text: arm, scenario, quotation, file, note.
        """
        figures = self._study.published
        if figure_id not in figures:
            raise self._names.unknown("published figure of this study", figure_id, figures)
        figure = figures[figure_id]
        self._cited[figure.file] = ""
        if form in FIGURE_TEXTS:
            return Label(getattr(figure, form) or "")
        number = Number(
            id=f"published/{figure_id}" + ("" if form == "with_unit" else f"/{form}"),
            kind="published",
            title=figure_id.replace("/", ", ").replace("-", " "),
            link=Link(published_file(figure_id), figure_id),
            form=self._form(form, figure.unit, FIGURE_TEXTS),
            form_name=form,
            value=figure.value,
            digits=figure.decimals,
            pinned=True,
            definition=figure.definition or "",
            unit=figure.unit,
            reason=figure.note or "",
            quotation=figure.quotation,
            source=f"{figure.file}, line {figure.line}",
        )
        return self._names.register.add(number)

    def published_figures(self) -> list[Figure]:
        """Published values that may stand beside ours: of an arm, a scenario and a metric of this
        study, and under no other definition."""
        return [
            figure
            for figure in self._study.published.values()
            if figure.id.startswith(f"{self._study.plan['published']}/")
            and figure.form == "value"
            and figure.arm in self._study.arms
            and figure.scenario in self._study.scenarios
            and figure.metric in METRICS
            and figure.definition in (None, METRICS[figure.metric].definition)
        ]

    def cited(self) -> list[tuple[Label, Label]]:
        """(source, address) of every fact and published figure that the page quoted so far."""
        return [(Label(source), Label(where)) for source, where in sorted(self._cited.items())]

    def _form(self, form: str, unit: str, texts: tuple[str, ...]) -> Form:
        forms = {"with_unit": Form(suffix=f" {unit}".rstrip()), "value": Form()}
        return self._names.form(form, forms | dict.fromkeys(texts, Form()))


def published_file(figure_id: str) -> str:
    """The file of a published figure: its id begins with the ledger's name."""
    return f"config/published/{figure_id.partition('/')[0]}.yaml"
