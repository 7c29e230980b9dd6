"""The published figures as data: each with its value, arm and scenario, and the words it is from.

A ledger (`config/published/<name>.yaml`) accounts for every number of one article: it is a figure
of a passage, or it is listed under `not_figures` with the reason.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from specdock.plan.load import read_yaml
from specdock.plan.models import Model
from specdock.plan.problems import ConfigError, from_validation, unknown_name
from specdock.plan.values import Name
from specdock.published.layout import Layout, Line

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
WORDS_PER_QUOTATION = 12

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9@._-]*$")]
FigureId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9@._-]*(/[a-z0-9][a-z0-9@._-]*)+$")]


def _short(quotation: str) -> str:
    words = len(re.findall(r"\S*\w\S*", quotation))
    if words > WORDS_PER_QUOTATION:
        raise ValueError(f"{words} words are quoted, at most {WORDS_PER_QUOTATION} are allowed")
    return quotation


Quotation = Annotated[str, Field(min_length=1), AfterValidator(_short)]
Metric = Literal[
    "acceptance_length",
    "context",
    "correct",
    "gate",
    "kv_pool_tokens",
    "latency_mean",
    "model_memory",
    "noise",
    "output_rate",
    "peak_memory",
    "power",
    "prefill_rate",
    "ready_after",
    "recurrent_slots",
    "request_slots",
    "setting",
    "tokens_per_joule",
    "tpot_median",
    "ttft_median",
    "ttft_p95",
]
Form = Literal["value", "ratio", "inverse", "change", "share", "difference"]


class Label(Model):
    """A slug of ours for an arm or a scenario, with the article's own words for it."""

    words: str
    line: Line
    fixed_length: bool = Field(False, description="generation was forced to its token cap")
    note: str | None = None


class Figure(Model):
    """One printed figure. Its sign is ours: "slower" and "fell" are negative changes."""

    id: FigureId
    value: float = Field(description="as printed, in `unit`; nothing is converted")
    unit: str
    metric: Metric = Field(description="the quantity; for a ratio, of what it is the ratio")
    form: Form = Field(
        "value",
        description="how `of` and `against` make it: ratio of/against, inverse against/of (times "
        "lower), change of/against - 1 in %, share of/against in %, difference of - against",
    )
    arm: Slug | None = None
    baseline: Slug | None = Field(
        None, description="arm compared with, if `against` is not printed"
    )
    scenario: Slug | None = None
    definition: str | None = Field(None, description="definition id; null where unknown")
    of: FigureId | None = None
    against: FigureId | None = None
    bound: Literal["lower", "upper"] | None = Field(
        None, description="end of a range, or an at-least or at-most"
    )
    kind: Literal["measured_there", "quoted_from_elsewhere", "context", "derived"]
    quotation: Quotation = Field(description="exactly as on the line")
    words: str | None = Field(None, description="the figure in the quotation, if not in digits")
    file: str
    line: Line
    also: list[Line] = Field([], description="further lines that print the same figure once")
    disagrees: str | None = Field(None, description="why it does not follow from of and against")
    note: str | None = None

    @model_validator(mode="after")
    def _quotation_holds_the_figure(self) -> Self:
        if self.words is not None and self.words not in self.quotation:
            raise ValueError(f"'{self.words}' is not in the quotation")
        if self.words is None and len(numbers_equal_to(self.value, self.quotation)) != 1:
            raise ValueError(f"the quotation must hold {self.value:g} exactly once")
        return self

    @model_validator(mode="after")
    def _both_sides_or_none(self) -> Self:
        if (self.of is None) != (self.against is None):
            raise ValueError("give both `of` and `against`, or neither")
        if self.of and self.form == "value":
            raise ValueError("`of` and `against` need a form other than value")
        if self.disagrees and not self.of:
            raise ValueError("`disagrees` needs `of` and `against`")
        return self

    @property
    def printed(self) -> str | None:
        """The figure's digits as printed ("1,617.5"); null if it is in words."""
        return numbers_equal_to(self.value, self.quotation)[0].group() if not self.words else None

    @property
    def decimals(self) -> int:
        """Digits after the printed point; a figure in words has none."""
        return len((self.printed or "").partition(".")[2])


class Passage(Model):
    """A quotation and its figures; the passage's other keys hold for each of them."""

    figures: list[Figure] = Field(min_length=1)


class NotFigures(Model):
    """Numbers that measure and describe nothing: `texts` everywhere, or only on `lines`.

    Without texts, every number of the lines is meant.
    """

    reason: str
    texts: list[str] = []
    lines: list[Line] = []

    @model_validator(mode="after")
    def _bare_numbers_need_lines(self) -> Self:
        for text in self.texts:
            if not NUMBER.search(text):
                raise ValueError(f"'{text}' holds no number")
            if not self.lines and not re.search(r"[A-Za-z]|\d\W\d+\W\d", text):
                raise ValueError(f"'{text}' is a bare number: say on which lines it is meant")
        if not self.texts and not self.lines:
            raise ValueError("give texts, lines or both")
        return self


class Ledger(Model):
    """Every number of one article."""

    article: str = Field(description="file name of the article")
    arms: dict[Name, Label]
    scenarios: dict[Slug, Label]
    passages: list[Passage]
    not_figures: list[NotFigures]
    tables: list[Layout] = Field([], description="the article's tables, as it prints them")

    @model_validator(mode="before")
    @classmethod
    def _spread_shared_keys(cls, raw: object) -> object:
        """Gives each figure the keys of its passage and the article's file name."""
        if not isinstance(raw, dict) or not isinstance(raw.get("passages"), list):
            return raw
        passages = []
        for passage in raw["passages"]:
            shared = {key: value for key, value in passage.items() if key != "figures"}
            shared["file"] = raw.get("article")
            passages.append({"figures": [shared | figure for figure in passage.get("figures", [])]})
        return raw | {"passages": passages}

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the article's order of first print."""
        return [figure for passage in self.passages for figure in passage.figures]


def numbers_equal_to(value: float, text: str) -> list[re.Match[str]]:
    """Numbers of a text that print the size of a value; "GSM8K" holds a number but prints none."""
    return [
        found
        for found in NUMBER.finditer(text)
        if found.group().count(".") < 2  # more dots make a version
        and float(found.group().replace(",", "")) == abs(value)
        and not text[: found.start()][-1:].isalpha()
    ]


def load_ledger(root: Path, name: str) -> Ledger:
    """config/published/<name>.yaml; raises `ConfigError` with every problem found."""
    shown = f"config/published/{name}.yaml"
    raw = read_yaml(root / shown, shown)
    try:
        ledger = Ledger.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(from_validation(error, shown, Ledger)) from None
    problems = []
    problems += [
        unknown_name(shown, f"tables: {table.caption}: arms", arm, ledger.arms)
        for table in ledger.tables
        for arm in sorted(table.names("arms") - ledger.arms.keys())
    ]
    counts = Counter(figure.id for figure in ledger.figures)
    for figure in ledger.figures:
        known = {
            "arm": ledger.arms,
            "baseline": ledger.arms,
            "scenario": ledger.scenarios,
            "of": counts,
            "against": counts,
        }
        problems += [
            unknown_name(shown, f"{figure.id}.{key}", given, allowed)
            for key, allowed in known.items()
            if (given := getattr(figure, key)) is not None and given not in allowed
        ]
    problems += [
        unknown_name(shown, f"{figure_id} (given {count} times)", figure_id, [f"{name}/..."])
        for figure_id, count in counts.items()
        if count > 1 or not figure_id.startswith(f"{name}/")
    ]
    if problems:
        raise ConfigError(problems)
    return ledger
