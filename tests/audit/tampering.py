"""What a forger would do to a study: change something, then make every hash right again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specdock.article.ledger import NUMBERS
from specdock.audit.seal import seal
from specdock.plan.fingerprint import sha256_of


@contextmanager
def restored(folder: Path) -> Iterator[None]:
    """Whatever happens to the sealed files of a study inside is undone at the end."""
    root = folder.parents[1]
    names = [*json.loads((folder / "seal.json").read_text())["files"], "results/small/seal.json"]
    before = {root / name: (root / name).read_bytes() for name in names}
    try:
        yield
    finally:
        for path, content in before.items():
            path.write_bytes(content)
        for path in {p for p in folder.rglob("*") if p.is_file()} - before.keys():
            if "ledger" not in path.parts:
                path.unlink()


def rewrite(path: Path, change: dict[int, dict]) -> None:
    """Changes values of a Parquet file: row number to column to value."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    for row, values in change.items():
        rows[row] |= values
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def reseal(folder: Path) -> None:
    """Seals a study as it is now."""
    grades = sorted((folder / "grades").rglob("*.parquet"))
    seal(folder, grades, folder.parents[1])


def launder(folder: Path) -> None:
    """Makes every hash right again: in manifests, in the ledger, on the pages, in the seal."""
    root = folder.parents[1]
    stated = json.loads((folder / "seal.json").read_text())["files"]
    for manifest in folder.glob("raw/*/*/*/manifest.json"):
        content = json.loads(manifest.read_text())
        files = {name: sha256_of(manifest.parent / name) for name in content["files"]}
        if files != content["files"]:
            manifest.write_text(json.dumps(content | {"files": files}, indent=1) + "\n")
    found = {name: sha256_of(root / name) for name in stated}
    for name in ("numbers.json", "article.html", "audit.html"):
        text = (folder / "article" / name).read_text()
        for file, digest in stated.items():
            text = text.replace(digest, found[file])
        (folder / "article" / name).write_text(text)
    write_numbers(folder, json.loads((folder / "article/numbers.json").read_text()))
    reseal(folder)


def write_numbers(folder: Path, ledger: dict) -> None:
    """Writes both forms of the ledger."""
    (folder / "article/numbers.json").write_text(json.dumps(ledger, indent=2))
    table = pa.Table.from_pylist(ledger["numbers"], NUMBERS)
    pq.write_table(table, folder / "article/numbers.parquet")


def other_value(value: object) -> object:
    """Something else of the same type."""
    match value:
        case None:
            return None
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * 1.01 + 0.01
        case str():
            return value + "x"
        case list():
            return [*value[:-1], other_value(value[-1])] if value else ["x"]
        case dict():
            key = next(iter(value))
            return value | {key: other_value(value[key])}
    return value.replace(year=value.year - 1)
