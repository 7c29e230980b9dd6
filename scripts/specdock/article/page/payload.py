"""What the page's drawer knows, as one JSON block: numbers, and the files, rules, sessions and
cells that they share. Texts that repeat are stored once."""

import shlex
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import orjson
from markupsafe import Markup

from specdock.article.ledger import Entry
from specdock.article.samples import PER_REQUEST, STRIP_WORDS, Sample
from specdock.article.study import Row, Study
from specdock.tables.schema import CELLS

MOST_CELLS = 12


class _Pool:
    """Things that many numbers share, each stored once and named by its place."""

    def __init__(self, build: Callable[[Any], object] = lambda item: item):
        self.items: list[object] = []
        self._build = build
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, item: Any = None) -> int:
        if key not in self._places:
            # Reserve the place first: building an item may fill other pools.
            self._places[key] = len(self.items)
            self.items.append(None)
            self.items[self._places[key]] = self._build(item if item is not None else key)
        return self._places[key]


def payload(entries: Iterable[Entry], study: Study, samples: dict[str, Sample]) -> Markup:
    """JSON that is safe inside a script element, whatever a model wrote."""
    return as_script(_Payload(study, samples).of(entries))


def as_script(content: object) -> Markup:
    """JSON in which no text can end the script element."""
    text = orjson.dumps(content).decode()
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


class _Payload:
    def __init__(self, study: Study, samples: dict[str, Sample]):
        self.study, self.samples = study, samples
        self.words = _Pool()
        self.rules = _Pool(lambda rule: [rule.name, rule.file, rule.line])
        self.files = _Pool(self._file)
        self.sessions = _Pool(self._session)
        self.cells = _Pool(self._cell)
        self.makers: dict[str, object] = {}
        self.strips: set[str] = set()

    def of(self, entries: Iterable[Entry]) -> dict:
        entries = list(entries)
        self.strips = {PER_REQUEST.get(entry.number.metric, "") for entry in entries}
        numbers = {entry.number.id: self._number(entry) for entry in entries}
        return {
            "study": self.study.name,
            "commit": self.study.commit,
            "strips": STRIP_WORDS,
            "words": self.words.items,
            "rules": self.rules.items,
            "files": self.files.items,
            "sessions": self.sessions.items,
            "cells": self.cells.items,
            "numbers": numbers,
        }

    def _number(self, entry: Entry) -> dict:
        number, chain = entry.number, entry.chain
        self.makers.update(chain.rules)
        own = [self.study.cells[cell] for cell in number.cells]
        other = [self.study.cells[cell] for cell in number.against_cells]
        content = {
            "printed": entry.printed,
            "note": entry.note,
            "title": number.title,
            "kind": number.kind,
            "value": number.value,
            "low": number.low,
            "high": number.high,
            "level": number.level,
            "unit": number.unit,
            "metric": number.metric if number.metric in CELLS.names else "",
            "strip": PER_REQUEST.get(number.metric, ""),
            "definition": self._word(number.definition),
            "seeds": number.seeds,
            "requests": number.requests,
            "method": self._word(number.method),
            "reason": self._word(number.reason),
            "synthetic": number.synthetic,
            "source": [self.files.place(chain.source.file), chain.source.rows[0]],
            "tables": [[self.files.place(rows.file), len(rows.rows)] for rows in chain.tables],
            "raw": [[self.files.place(rows.file), rows.rows[0]] for rows in chain.raw[:MOST_CELLS]],
            "more_raw": max(0, len(chain.raw) - MOST_CELLS) or None,
            "cells": self._cells(own, number.metric),
            "against": self._cells(other, number.metric),
            "sessions": [
                self.sessions.place(row["session"], row) for row in chain.sessions[:MOST_CELLS]
            ],
            "places": [[f"article/{place.template}", place.line] for place in entry.places],
            "quotation": number.quotation,
            "cited": number.source,
        }
        return {key: value for key, value in content.items() if not _empty(value)}

    def _cells(self, rows: list[Row], metric: str) -> list[list]:
        return [
            [self.cells.place(row["cell"], row), row.get(metric) if metric in CELLS.names else None]
            for row in rows[:MOST_CELLS]
        ]

    def _word(self, text: str) -> int | None:
        return self.words.place(text) + 1 if text else None

    def _file(self, file: str) -> list:
        rule = self.makers.get(file)
        return [file, self.study.digest(file), self.rules.place(rule) if rule else None]

    def _cell(self, row: Row) -> dict:
        sample = self.samples.get(row["cell"], Sample())
        return {
            "arm": row["arm"],
            "scenario": row["scenario"],
            "seed": row["seed"],
            "usable": row["usable"],
            "values": {
                name: sample.values[name] for name in sorted(self.strips & sample.values.keys())
            },
            "text": sample.text,
            "prompt": sample.prompt,
        }

    def _session(self, row: Row) -> dict:
        evidence = row["evidence"] or []
        return {
            "name": row["session"],
            "engine": row["engine"],
            "version": row["engine_version"],
            "command": self._word(shlex.join(row["argv"] or [])),
            "environment": self._word(row["environment"] or ""),
            "lock": row["lock_sha256"],
            "target": row["target"],
            "drafter": row["drafter"],
            "gpu": self._word(_in_words(row["gpu"])),
            "host": self._word(_in_words(row["host"])),
            "commit": row["commit"],
            "dirty": row["dirty"],
            "log": row["log_file"],
            "evidence": [
                [item["fact"], item["line"], self._word(item["text"] or "")] for item in evidence
            ],
        }


def _in_words(text: str | None) -> str:
    """Facts in JSON as `name: value, name: value`."""
    facts = orjson.loads(text) if text else {}
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items())


def _empty(value: object) -> bool:
    return value is None or value is False or value == "" or value == []
