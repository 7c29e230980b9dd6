"""The chain behind a number: claim or plan, table rows, raw rows, sessions, and the rule that made
each file. Every file of it is hashed as it is when the page is built."""

from collections.abc import Iterable
from dataclasses import dataclass

from specdock.article.printed import Number
from specdock.article.rules import Rule, Rulebook
from specdock.article.study import Row, Study


@dataclass(frozen=True)
class Rows:
    """Rows of one file: keys of a table, or row ranges of a raw file."""

    file: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """The links of one number, from the page down."""

    source: Rows
    tables: tuple[Rows, ...]
    raw: tuple[Rows, ...]
    sessions: tuple[Row, ...]
    rules: tuple[tuple[str, Rule], ...]

    @property
    def files(self) -> list[str]:
        """Every file of the chain, once."""
        return list(dict.fromkeys(r.file for r in (self.source, *self.tables, *self.raw)))


def chain_of(number: Number, study: Study, rulebook: Rulebook) -> Chain:
    """Follows a number down; raises `RuleUnknown` or `StudyIncomplete` where a link is missing."""
    cells = [study.cells[cell] for cell in (*number.cells, *number.against_cells)]
    names = dict.fromkeys([row["session"] for row in cells] or number.sessions)
    sessions = tuple(study.sessions[name] for name in names)
    source = Rows(number.link.file, (number.link.row,))
    tables, raw = [], []
    if cells:
        keys = tuple(f"cell={row['cell']}" for row in cells)
        tables.append(Rows(study.file("tables/cells.parquet"), keys))
        raw = [Rows(file, (rows,)) for file, rows in _raw_rows(cells)]
    elif sessions:
        keys = tuple(f"session={row['session']}" for row in sessions)
        tables.append(Rows(study.file("tables/sessions.parquet"), keys))
        raw = [Rows(row["manifest_file"], (f"session={row['session']}",)) for row in sessions]
    tables = [table for table in tables if table.file != source.file or len(table.rows) > 1]
    chain = Chain(source, tuple(tables), tuple(raw), sessions, ())
    made = [file for file in chain.files if not file.startswith("config/")]
    rules = tuple((file, rulebook.maker(file)) for file in made)
    return Chain(source, chain.tables, chain.raw, sessions, rules)


def _raw_rows(cells: Iterable[Row]) -> list[tuple[str, str]]:
    """(file, row ranges) of some cells."""
    by_file: dict[str, list[Row]] = {}
    for row in cells:
        by_file.setdefault(row["raw_file"], []).append(row)
    return [(file, ", ".join(row["raw_ranges"] for row in rows)) for file, rows in by_file.items()]
