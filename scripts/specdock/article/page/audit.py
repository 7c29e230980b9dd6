"""The audit page's tables: every number, claim, gate, unusable cell and published figure."""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from specdock.article.study import Row, Study
from specdock.article.words import meaning, verdict_word
from specdock.tables.schema import METRICS


class Column(NamedTuple):
    """A column; its kind is text, number, hash, or link (text, address, what sorts)."""

    name: str
    kind: str = "text"


@dataclass(frozen=True)
class Table:
    """One audit table."""

    id: str
    title: str
    columns: list[Column]
    rows: list[list]


def audit_tables(numbers: list[Row], study: Study) -> list[Table]:
    """The tables of the audit page; `numbers` are rows of the ledger."""
    tables = [_numbers(numbers), _claims(study), _gates(study), _unusable(study)]
    tables.append(_scoreboard(study))
    return [*tables, _peers(study)] if study.peers else tables


def _numbers(numbers: list[Row]) -> Table:
    columns = [
        Column("note", "number"),
        Column("printed", "link"),
        Column("what it is"),
        Column("exact", "number"),
        Column("low", "number"),
        Column("high", "number"),
        Column("starts", "number"),
        Column("kind"),
        Column("source"),
        Column("sha256", "hash"),
        Column("rule"),
        Column("stands in"),
        Column("template"),
    ]
    rows = [
        [
            row["note"],
            [row["printed"], f"article.html#n-{quote(row['id'], safe='/@:=+')}", row["value"]],
            row["title"],
            row["value"],
            row["low"],
            row["high"],
            row["seeds"],
            f"{row['kind']}, synthetic" if row["synthetic"] else row["kind"],
            f"{row['source']['file'].rsplit('/')[-1]}, {row['source']['rows'][0]}",
            row["source"]["sha256"],
            *_rule(row),
            _place(row),
        ]
        for row in numbers
    ]
    return Table("numbers", "Numbers", columns, rows)


def _claims(study: Study) -> Table:
    names = ["metric", "arm", "against", "scenario", "verdict"]
    figures = ["value", "low", "high", "starts", "band"]
    columns = [*map(Column, names), *(Column(name, "number") for name in figures), Column("method")]
    rows = [
        [
            row["metric"].replace("_", " "),
            row["arm"],
            row["against"],
            row["scenario"],
            verdict_word(row["metric"], row["verdict"]),
            row["value"],
            row["low"],
            row["high"],
            row["seeds"],
            row["band"],
            f"{row['form']}; {row['method'] or row['reason']}",
        ]
        for row in study.comparisons.values()
    ]
    return Table("claims", "Claims", columns, rows)


def _gates(study: Study) -> Table:
    figures = ["threshold", "value", "low", "high"]
    columns = [Column("gate"), Column("speaks of"), Column("must be")]
    columns += [Column(name, "number") for name in figures]
    columns += [Column("verdict"), Column("decided by")]
    rows = [
        [
            row["gate"],
            row["text"],
            row["kind"].replace("_", " "),
            *(row[name] for name in figures),
            row["verdict"],
            row["decided_by"],
        ]
        for row in study.gates
    ]
    return Table("gates", "Gates", columns, rows)


def _unusable(study: Study) -> Table:
    columns = [Column("arm"), Column("scenario"), Column("seed", "number"), Column("why")]
    columns += [Column("code"), Column("cell"), Column("raw file")]
    rows = [
        [
            row["arm"],
            row["scenario"],
            row["seed"],
            "; ".join(meaning(code) for code in row["reasons"]),
            ", ".join(row["reasons"]),
            row["cell"],
            row["raw_file"],
        ]
        for row in study.cells.values()
        if not row["usable"]
    ]
    return Table("unusable", "Unusable cells", columns, rows)


def _scoreboard(study: Study) -> Table:
    columns = [Column("figure", "link"), *map(Column, ("arm", "scenario", "metric"))]
    names = ("published", "ours", "low", "high", "ratio", "low", "high", "noise")
    columns += [*(Column(name, "number") for name in names), Column("verdict"), Column("why")]
    figures = ("published", "ours", "ours_low", "ours_high", "ratio", "ratio_low", "ratio_high")
    rows = [
        [
            [
                row["figure"],
                f"article.html#n-published/{quote(row['figure'], safe='/@:=+')}",
                row["figure"],
            ],
            row["arm"],
            row["scenario"],
            row["metric"].replace("_", " "),
            *(row[name] for name in figures),
            row["noise"],
            row["verdict"],
            row["reason"],
        ]
        for row in study.arguments["scoreboard"]
    ]
    return Table("scoreboard", "Published figures", columns, rows)


def _peers(study: Study) -> Table:
    """What other people's clients report of one cell, beside what ours measured."""
    figures = ["ours", "theirs", "ratio", "low", "high", "rounds", "band"]
    columns = [Column("client"), Column("arm"), Column("scenario"), Column("metric")]
    columns += [Column(name, "number") for name in figures]
    columns += [Column("difference"), Column("verdict"), Column("what they mean by it")]
    rows = [
        [
            *(row[name] for name in ("client", "arm", "scenario")),
            f"{METRICS[row['metric']].label}, {row['unit']}",
            *(row[name] for name in figures),
            "within the noise" if row["within_noise"] else "beyond the noise",
            row["verdict"],
            row["their_definition"],
        ]
        for row in study.peers
    ]
    return Table("peers", "Other clients on the same server", columns, rows)


def _rule(row: Row) -> tuple[str | None, str | None]:
    """The rule that made the source, and where it stands; a file of config has none."""
    if not row["rules"]:
        return None, None
    rule = row["rules"][0]
    return rule["rule"], f"{rule['file']}:{rule['line']}"


def _place(row: Row) -> str:
    first, *more = row["places"]
    place = f"{first['template'].removeprefix('article/')}:{first['line']}"
    return f"{place} (+{len(more)})" if more else place
