"""The HTML around the article: style and script go into the page itself."""

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from specdock.article.study import Study


@dataclass(frozen=True)
class Theme:
    """The templates of a theme, for the article of one study."""

    folder: Path
    study: Study
    out: Path

    def write(self, file: str, template: str, **content: object) -> None:
        """Writes one self-contained HTML file."""
        environment = Environment(
            loader=FileSystemLoader(self.folder),
            undefined=StrictUndefined,
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        page = environment.get_template(template).render(
            study=self.study,
            style=Markup((self.folder / "style.css").read_text(encoding="utf-8")),
            script=Markup((self.folder / "page.js").read_text(encoding="utf-8")),
            root="../" * len(self.out.relative_to(self.study.root).parts),
            **content,
        )
        (self.out / file).write_text(page, encoding="utf-8")
