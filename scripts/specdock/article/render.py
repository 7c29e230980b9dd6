"""From a measured study to its article: Markdown, one HTML page, an audit page, figures and the
ledger, all from the same templates and the same numbers."""

from pathlib import Path

from specdock.article.arithmetic import settle
from specdock.article.bindings.names import Names
from specdock.article.chain import chain_of
from specdock.article.figures import Placed
from specdock.article.ledger import Entry, ledger_row, write_ledger
from specdock.article.lint import Report, lint_figure
from specdock.article.page.audit import audit_tables
from specdock.article.page.html import as_html
from specdock.article.page.markdown import as_markdown
from specdock.article.page.payload import as_script, payload
from specdock.article.page.theme import Theme
from specdock.article.printed import BLOCK, TOKEN, Register
from specdock.article.rules import Rulebook
from specdock.article.samples import Sample, add_answers, read_values
from specdock.article.study import Row, Study
from specdock.article.templates import fill_templates, lint_article


def render(study: Study, templates: Path, out: Path) -> None:
    """Writes article.md, article.html, audit.html, numbers.parquet, numbers.json and figures/.

    Raises `SpecdockError` with file and line if a template types a figure, names what nothing
    knows, makes a number that it does not print, or prints a ratio that its parts do not give.
    """
    lint_article(templates).require_clean()
    names = Names(study, Register())
    text = fill_templates(templates, names)
    figures = names.figures
    _lint_figures(figures)
    entries = _entries(text, names)
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


def _lint_figures(figures: list[Placed]) -> None:
    report = Report()
    for placed in figures:
        file = f"figures/{placed.figure.name}.svg"
        report.findings += lint_figure(file, placed.figure.whole, placed.figure.labels)
    report.require_clean()


def _entries(text: str, names: Names) -> dict[int, Entry]:
    """Every number on the page, by the index in its token, in the order of first appearance."""
    study, register = names.study, names.register

    def figure_text(placed: Placed) -> str:
        marks = (register.use(number) for number in placed.figure.numbers)
        return "".join(f"\ue000{index}\ue001" for index in marks) + str(placed.caption)

    whole = BLOCK.sub(lambda match: figure_text(names.figures[int(match.group(1))]), text)
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
