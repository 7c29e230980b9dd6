"""Studies and pages that several test files of the article share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from synthetic_study import HOSTILE, SyntheticStudy

from specdock.article.bindings.names import Names
from specdock.article.printed import TOKEN, Register
from specdock.article.render import render
from specdock.article.study import Study
from specdock.article.templates import fill_templates

REPOSITORY = Path(__file__).resolve().parents[2]
TEMPLATES = REPOSITORY / "article"


@dataclass(frozen=True)
class Rendered:
    """A study whose article was rendered under a folder that stands for the repository."""

    root: Path
    study: Study
    out: Path

    @property
    def page(self) -> str:
        return (self.out / "article.html").read_text(encoding="utf-8")

    @property
    def markdown(self) -> str:
        return (self.out / "article.md").read_text(encoding="utf-8")


def rendered(root: Path, study: SyntheticStudy, templates: Path = TEMPLATES) -> Rendered:
    """Writes and renders an invented study."""
    folder = study.write(root)
    loaded = Study(folder, root)
    render(loaded, templates, folder / "article")
    return Rendered(root, loaded, folder / "article")


@pytest.fixture(scope="session")
def won(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """The article of a study in which the candidate wins."""
    return rendered(tmp_path_factory.mktemp("won"), SyntheticStudy())


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """The article of a study whose model output, arm notes and engine attack the page."""
    study = SyntheticStudy(text=HOSTILE, note=HOSTILE, engine_version=HOSTILE)
    return rendered(tmp_path_factory.mktemp("hostile"), study)


@pytest.fixture
def fill(won: Rendered, tmp_path: Path) -> Callable[..., tuple[str, Register]]:
    """Fills one template text with the bindings of the winning study, tokens replaced by ids."""

    def filled(text: str, study: Study | None = None) -> tuple[str, Register]:
        (tmp_path / "article.md.j2").write_text(text, encoding="utf-8")
        register = Register()
        tokens = fill_templates(tmp_path, Names(study or won.study, register))
        return TOKEN.sub(lambda found: register.numbers[int(found[1])].id, tokens), register

    return filled
