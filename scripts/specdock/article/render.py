"""From a measured study to its article: Markdown, one HTML page, an audit page, figures and the
ledger, all from the same templates and the same numbers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateSyntaxError,
    Undefined,
)
from jinja2 import TemplateError as JinjaError
from markupsafe import Markup

from specdock.article.arithmetic import settle
from specdock.article.bindings import binding_names, bindings
from specdock.article.bindings.names import Names
from specdock.article.chain import chain_of
from specdock.article.ledger import Entry, ledger_row, write_ledger
from specdock.article.lint import Report, denied, lint_figure, lint_templates
from specdock.article.page.audit import audit_tables
from specdock.article.page.html import as_html
from specdock.article.page.markdown import as_markdown
from specdock.article.page.payload import as_script, payload
from specdock.article.printed import BLOCK, TOKEN, Label, Printed, Register, TemplateError, here
from specdock.article.rules import Rulebook
from specdock.article.samples import Sample, add_answers, read_values
from specdock.article.study import Row, Study


def article_environment(folder: Path) -> Environment:
    """Jinja over the article's templates: nothing undefined, nothing printed but bindings."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_only_bindings,
    )


def lint_article(templates: Path) -> Report:
    """Lints every template of an article."""
    return lint_templates(templates, article_environment(templates), binding_names())


def render(study: Study, templates: Path, out: Path) -> None:
    """Writes article.md, article.html, audit.html, numbers.parquet, numbers.json and figures/.

    Raises `SpecdockError` with file and line if a template types a figure, names what nothing
    knows, makes a number that it does not print, or prints a ratio that its parts do not give.
    """
    lint_article(templates).require_clean()
    register = Register()
    text = fill_templates(templates, Names(study, register))
    entries = _entries(text, register, study)
    figures = register.figures
    report = Report()
    for placed in figures:
        file = f"figures/{placed.figure.name}.svg"
        report.findings += lint_figure(file, placed.figure.whole, placed.figure.labels)
    report.require_clean()
    ledger = [entries[index] for index in sorted(entries, key=lambda index: entries[index].note)]
    samples = _samples(study, ledger)
    rows = [ledger_row(entry, study) for entry in ledger]

    (out / "figures").mkdir(parents=True, exist_ok=True)
    for placed in figures:
        figure = placed.figure
        (out / f"figures/{figure.name}.svg").write_text(figure.whole, encoding="utf-8")
        (out / f"figures/{figure.name}.csv").write_text(figure.data, encoding="utf-8")
    (out / "article.md").write_text(as_markdown(text, entries, figures), encoding="utf-8")
    theme = Theme(templates / "theme", study, out)
    body, data = as_html(text, entries, figures), payload(ledger, study, samples)
    theme.write("article.html", "page.html.j2", body=body, data=data)
    tables = audit_tables(rows, study)
    found = as_script({table.id: table.rows for table in tables})
    theme.write("audit.html", "audit.html.j2", tables=tables, rows=found)
    write_ledger(rows, study, out)


@dataclass(frozen=True)
class Theme:
    """The HTML around the article: style and script go into the page itself."""

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


def fill_templates(templates: Path, names: Names) -> str:
    """The article as Markdown in which every number is still a token of the names' register.

    Raises `TemplateError` for what templates may not do, and for a number that is never printed.
    """
    environment = article_environment(templates)
    environment.globals.update(bindings(names))
    with _template_errors():
        text = environment.get_template("article.md.j2").render()
    unused = names.register.unused()
    if unused:
        lines = [
            f"{place}: {number.title} ({number.id}) is made and never printed"
            for number, place in unused
        ]
        raise TemplateError("\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _entries(text: str, register: Register, study: Study) -> dict[int, Entry]:
    """Every number on the page, by the index in its token, in the order of first appearance."""
    whole = BLOCK.sub(lambda match: _figure_text(register, int(match.group(1))), text)
    order = list(dict.fromkeys(int(index) for index in TOKEN.findall(whole)))
    numbers = [(register.numbers[index], register.places[index][0]) for index in order]
    settled = settle(numbers)
    rulebook = Rulebook(study.root)
    chains = [chain_of(number, study, rulebook) for number, _ in numbers]
    study.hash_ahead(file for chain in chains for file in chain.files)
    return {
        index: Entry(number, note, *settled[number.id], register.places[index], chain)
        for note, (index, (number, _), chain) in enumerate(
            zip(order, numbers, chains, strict=True), 1
        )
    }


def _figure_text(register: Register, index: int) -> str:
    """What a figure prints: its caption, and a token for every mark."""
    placed = register.figures[index]
    marks = "".join(f"\ue000{register.use(number)}\ue001" for number in placed.figure.numbers)
    return marks + str(placed.caption)


def _samples(study: Study, ledger: list[Entry]) -> dict[str, Sample]:
    """Raw rows for the strips of metric numbers, and one answer for each arm and scenario."""
    measured = [entry.number for entry in ledger if entry.number.metric]
    cells = {cell for number in measured for cell in (*number.cells, *number.against_cells)}
    samples = read_values(study.root / study.file("tables/requests.parquet"), cells)
    first: dict[tuple[str, str], Row] = {}
    for row in sorted((study.cells[cell] for cell in cells), key=lambda row: row["seed"]):
        first.setdefault((row["arm"], row["scenario"]), row)
    add_answers(samples, first.values(), study.root)
    return samples


def _only_bindings(value: object) -> object:
    """Refuses to print a figure or a word of comparison that no binding made."""
    if isinstance(value, (Printed, Label)):
        return Markup(value.__html__())
    if isinstance(value, (Markup, Undefined)):
        return value
    if isinstance(value, str) and not any(denied(value)):
        return Markup(Label(value).__html__())
    raise TemplateError(
        f"{here()}: the template prints what no binding made\n"
        f"  found    {type(value).__name__} {str(value)[:80]!r}\n"
        "  allowed  n, ratio, fact, setting, count, verdict, label, ..., or words without figures"
    )


@contextmanager
def _template_errors() -> Iterator[None]:
    """Gives Jinja's own errors file and line."""
    try:
        yield
    except TemplateSyntaxError as error:
        raise TemplateError(f"article/{error.name}:{error.lineno}: {error.message}") from None
    except (JinjaError, TypeError, AttributeError) as error:
        traceback, place = error.__traceback__, "article"
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename.endswith(".j2"):
                file = Path(traceback.tb_frame.f_code.co_filename)
                place = f"{file.parent.name}/{file.name}:{traceback.tb_lineno}"
            traceback = traceback.tb_next
        raise TemplateError(f"{place}: {error}") from error
