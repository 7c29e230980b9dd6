"""What remains of the articles in the repository: digests, so that the ledgers can be checked, as
far as that goes, where the articles are absent."""

import hashlib
import json
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError
from ruamel.yaml import YAML

from specdock.plan.load import read_yaml
from specdock.plan.models import Model
from specdock.plan.problems import ConfigError, Problem, from_validation
from specdock.plan.values import Sha256
from specdock.published.ledger import Ledger, Line

DIGESTS = "config/published/digests.yaml"
HEAD = """\
# Digests of the articles under config/published, written by scripts/refind.py after every quotation
# was found again and every number accounted for. `lines` are those that the ledger cites.

"""


class Digest(Model):
    """One article as its ledger last found it."""

    article: Sha256 = Field(description="of the file's bytes")
    claims: Sha256 = Field(description="of all that the ledger says the article prints, and where")
    numbers: int = Field(description="numbers in the article's text")
    figures: int = Field(description="numbers that are figures of the ledger")
    lines: dict[Line, Sha256] = Field(description="of each cited line's text, without its end")


def digest_of(ledger: Ledger, article: bytes, numbers: int, figures: int) -> Digest:
    """The digest of an article; the counts come from `account_for`."""
    lines = article.decode("utf-8").split("\n")
    return Digest(
        article=_sha256(article),
        claims=claims_sha256(ledger),
        numbers=numbers,
        figures=figures,
        lines={line: _sha256(lines[line - 1].encode()) for line in sorted(cited_lines(ledger))},
    )


def cited_lines(ledger: Ledger) -> set[int]:
    """Every line that a figure, an arm, a scenario or a table of the ledger names."""
    labels = [*ledger.arms.values(), *ledger.scenarios.values()]
    also = {line for figure in ledger.figures for line in figure.also}
    heads = {line for table in ledger.tables for _, line in table.words()}
    return {cited.line for cited in [*ledger.figures, *labels]} | also | heads


def claims_sha256(ledger: Ledger) -> str:
    """Changes with whatever must be found in the article again; notes and slugs are free."""
    figures = {"value", "quotation", "words", "line", "also"}
    claims = {
        "figures": [figure.model_dump(include=figures) for figure in ledger.figures],
        "labels": [
            [label.words, label.line]
            for label in [*ledger.arms.values(), *ledger.scenarios.values()]
        ],
        "tables": [list(table.words()) for table in ledger.tables],
        "not_figures": [entry.model_dump(exclude={"reason"}) for entry in ledger.not_figures],
    }
    return _sha256(json.dumps(claims, sort_keys=True, ensure_ascii=False).encode())


def load_digests(root: Path) -> dict[str, Digest]:
    """config/published/digests.yaml by ledger name; raises `ConfigError`."""
    try:
        return TypeAdapter(dict[str, Digest]).validate_python(read_yaml(root / DIGESTS, DIGESTS))
    except ValidationError as error:
        raise ConfigError(from_validation(error, DIGESTS, Digest)) from None


def write_digests(root: Path, digests: dict[str, Digest]) -> None:
    """Writes config/published/digests.yaml, ledgers by name."""
    yaml = YAML()
    with (root / DIGESTS).open("w", encoding="utf-8") as file:
        file.write(HEAD)
        yaml.dump({name: digests[name].model_dump() for name in sorted(digests)}, file)


def changed_since_found(ledger: Ledger, name: str, digest: Digest | None) -> list[Problem]:
    """A problem, unless the ledger still says what was last found in the article."""
    if digest and claims_sha256(ledger) == digest.claims:
        return []
    hint = "run scripts/refind.py with the articles at hand"
    return [
        Problem(
            f"config/published/{name}.yaml", "", "changed since it was last re-found", hint=hint
        )
    ]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
