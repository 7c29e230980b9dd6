"""The ledger: one row a printed number, with everything that a reviewer needs to find it again."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from specdock.article.chain import Chain
from specdock.article.printed import Number, Place
from specdock.article.study import Study
from specdock.columns import column
from specdock.columns import column as field

_ROWS = pa.struct([("file", pa.string()), ("sha256", pa.string()), ("rows", pa.list_(pa.string()))])
_RULE = pa.struct(
    [
        ("makes", pa.string()),
        ("rule", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
    ]
)
_PLACE = pa.struct([("template", pa.string()), ("line", pa.int32())])

NUMBERS = pa.schema(
    [
        column("id", pa.string(), "stable id; the page's address of it is #n-<id>"),
        column("note", pa.int32(), "number of its endnote: order of first appearance"),
        column("printed", pa.string(), "text on the page"),
        field(
            "kind", pa.string(), "estimate, ratio, difference, verdict, gate, count, setting, ..."
        ),
        column("title", pa.string(), "what it is, in words"),
        column("form", pa.string(), "form of the binding"),
        column("shape", pa.string(), "what is shown: value, interval, or both"),
        column("offset", pa.float64(), "shown = (value - offset) * scale"),
        column("scale", pa.float64(), "shown = (value - offset) * scale"),
        column("digits", pa.int32(), "decimals shown"),
        column("value", pa.float64(), "exact value; null for words and intervals alone"),
        column("low", pa.float64(), "lower end of the interval"),
        column("high", pa.float64(), "upper end of the interval"),
        column("level", pa.float64(), "level of the interval"),
        column("unit", pa.string(), "unit of value, low and high"),
        column("metric", pa.string(), "metric"),
        column("definition", pa.string(), "definition id of the metric"),
        column("arm", pa.string(), "arm, or role=<role> where no arm plays it"),
        column("against", pa.string(), "the other arm of a comparison"),
        column("scenario", pa.string(), "scenario"),
        column("seeds", pa.int32(), "engine starts behind it"),
        column("requests", pa.int32(), "requests behind it"),
        column("method", pa.string(), "how value and interval were computed"),
        column("reason", pa.string(), "why there is no value or no interval"),
        column("synthetic", pa.bool_(), "dummy weights or an imposed acceptance touch it"),
        column("dirty", pa.bool_(), "measured with uncommitted changes"),
        column("source", _ROWS, "the file and row that hold the value"),
        column("tables", pa.list_(_ROWS), "table rows that the source was made from"),
        column("raw", pa.list_(_ROWS), "raw rows that the tables were made from"),
        column("sessions", pa.list_(pa.string()), "engine starts"),
        column("rules", pa.list_(_RULE), "the rule that made each file, and where it stands"),
        column("commit", pa.string(), "commit that rendered, empty outside git"),
        column("measured_at", pa.list_(pa.string()), "commits that measured"),
        column("engines", pa.list_(pa.string()), "engine versions, as the engines state them"),
        column("locks", pa.list_(pa.string()), "sha256 of the engine environments' locks"),
        column("targets", pa.list_(pa.string()), "pins of the targets"),
        column("drafters", pa.list_(pa.string()), "pins of the drafters"),
        column("gpus", pa.list_(pa.string()), "state of the card, as JSON"),
        column("places", pa.list_(_PLACE), "template lines that print it"),
        column("parts", pa.list_(pa.string()), "ids of the two values of a ratio or difference"),
        column("quotation", pa.string(), "words that a fact or a log line was taken from"),
        column("cited", pa.string(), "who stated it, when, and where to read it"),
    ]
)


@dataclass(frozen=True)
class Entry:
    """A printed number with its text, its places and its chain."""

    number: Number
    note: int
    printed: str
    digits: int
    places: list[Place]
    chain: Chain


def ledger_row(entry: Entry, study: Study) -> dict:
    """One row of `NUMBERS`."""
    number, chain = entry.number, entry.chain

    def rows(links: Iterable) -> list[dict]:
        return [
            {"file": link.file, "sha256": study.digest(link.file), "rows": list(link.rows)}
            for link in links
        ]

    def distinct(name: str) -> list[str]:
        values = (session[name] for session in chain.sessions)
        return list(dict.fromkeys(value for value in values if value))

    same = ("id", "kind", "title", "value", "low", "high", "level", "unit", "metric", "definition")
    same += ("arm", "against", "scenario", "seeds", "requests", "method", "reason", "synthetic")
    return {name: getattr(number, name) for name in (*same, "quotation")} | {
        "note": entry.note,
        "printed": entry.printed,
        "form": number.form_name,
        "shape": "words" if number.words else number.form.shape,
        "offset": number.form.offset,
        "scale": number.form.scale,
        "digits": entry.digits,
        "dirty": bool(distinct("dirty")),
        "source": rows([chain.source])[0],
        "tables": rows(chain.tables),
        "raw": rows(chain.raw),
        "sessions": [session["session"] for session in chain.sessions],
        "rules": [
            {"makes": file, "rule": rule.name, "file": rule.file, "line": rule.line}
            for file, rule in chain.rules
        ],
        "commit": study.commit,
        "measured_at": distinct("commit"),
        "engines": distinct("engine_version"),
        "locks": distinct("lock_sha256"),
        "targets": distinct("target"),
        "drafters": distinct("drafter"),
        "gpus": distinct("gpu"),
        "places": [{"template": f"article/{p.template}", "line": p.line} for p in entry.places],
        "parts": list(number.parts),
        "cited": number.source,
    }


def write_ledger(rows: list[dict], study: Study, folder: Path) -> None:
    """Writes numbers.parquet and numbers.json; the JSON carries the schema in words."""
    table = pa.Table.from_pylist(rows, NUMBERS)
    pq.write_table(table, folder / "numbers.parquet", compression="zstd")
    columns = {
        item.name: {
            "type": str(item.type),
            "description": item.metadata[b"description"].decode(),
        }
        for item in NUMBERS
    }
    content = {"study": study.name, "commit": study.commit, "columns": columns, "numbers": rows}
    (folder / "numbers.json").write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
