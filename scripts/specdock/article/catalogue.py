"""Background figures that a study quotes, each with the words that state it: config/facts.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from specdock.plan.load import load_catalogue
from specdock.plan.models import Model

FACTS = "config/facts.yaml"


class Fact(Model):
    """A figure with its source; the quotation holds the words that it was taken from."""

    title: str = Field(description="what the figure is")
    value: float | int | str
    unit: str = ""
    digits: Annotated[int, Field(ge=0)] = 0
    source: str = Field(description="who said it, and where")
    address: str = Field("", description="where to read it")
    date: str = Field(description="when it was stated, or read")
    quotation: str


def load_facts(root: Path) -> dict[str, Fact]:
    """config/facts.yaml by id, if there is one; raises `ConfigError`."""
    return load_catalogue(root / FACTS, FACTS, Fact) if (root / FACTS).is_file() else {}
