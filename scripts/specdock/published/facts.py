"""Background facts that articles need (memory, bandwidth, power limits, prices), each with the
publication, the date and the words it was taken from."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from specdock.plan.load import load_catalogue
from specdock.plan.models import Model
from specdock.published.ledger import Quotation, numbers_equal_to

FACTS = "config/facts.yaml"


class Fact(Model):
    """One figure that somebody stated."""

    title: str = Field(description="what the figure is")
    value: float = Field(description="as stated, in `unit`; nothing is converted")
    unit: str
    digits: Annotated[int, Field(ge=0)] = Field(0, description="decimals to print")
    source: str = Field(description="publication that states it")
    address: str = Field(description="where to read it: a URL, or FILE#ID of a published figure")
    date: str = Field(description="of the publication, as far as known")
    quotation: Quotation

    @model_validator(mode="after")
    def _quotation_holds_the_fact(self) -> Self:
        printed = [found.group() for found in numbers_equal_to(self.value, self.quotation)]
        if not printed:
            raise ValueError(f"the quotation does not hold {self.value:g}")
        if all(len(number.partition(".")[2]) != self.digits for number in printed):
            raise ValueError(f"the quotation does not print {self.digits} decimals")
        return self


def load_facts(root: Path) -> dict[str, Fact]:
    """config/facts.yaml by id; raises `ConfigError`."""
    return load_catalogue(root / FACTS, FACTS, Fact)
