"""Reads a data set by its reader and chooses the prompts of a cell."""

import gzip
import json
import random
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pyarrow.parquet as pq
from ruamel.yaml import YAML

from specdock.errors import SpecdockError
from specdock.plan.models import DataSet, PackageSource, PathSource, Reader


class WorkloadError(SpecdockError):
    """A data set that cannot supply the prompts that a scenario asks for."""


@dataclass(frozen=True)
class Prompt:
    """One prompt as chat messages, with what grading it needs."""

    prompt_id: str
    messages: list[dict[str, str]]
    answer: str | None = None
    category: str | None = None
    extra: dict[str, str] = field(default_factory=dict)


def read_prompts(name: str, data_set: DataSet, folder: Path) -> list[Prompt]:
    """All prompts of a data set, in file order; `folder` holds its fetched files.

    Raises `WorkloadError` where a row lacks a field that the reader names.
    """
    reader = data_set.reader
    rows = read_rows(name, data_set, folder)
    prompts = [_prompt(name, index, row, reader) for index, row in enumerate(rows)]
    ids = {prompt.prompt_id for prompt in prompts}
    if len(ids) != len(prompts):
        raise WorkloadError(f"config/datasets.yaml: {name}.reader.id: prompt ids are not unique")
    return prompts


def read_rows(name: str, data_set: DataSet, folder: Path) -> list[dict]:
    """The rows that the reader keeps and takes, in file order; raises `WorkloadError` for none."""
    reader = data_set.reader
    files = _files(data_set, folder)
    rows = [row for file in files for row in _rows(file, reader) if _kept(row, reader)]
    if not rows:
        raise WorkloadError(
            f"config/datasets.yaml: {name}.reader\n  found    no row to keep in "
            f"{', '.join(map(str, files)) or f'{folder}, which holds none of its files'}"
        )
    return rows[: reader.take["first"]] if reader.take else rows


def select(prompts: list[Prompt], seed: int, measured: int, warmups: int) -> list[Prompt]:
    """`measured` prompts for the window and then `warmups` others.

    Every seed and every arm measures the same prompts, so that arms pair by prompt; the seed
    decides their order. Raises `WorkloadError` if there are too few.
    """
    needed = measured + warmups
    if len(prompts) < needed:
        raise WorkloadError(
            f"{len(prompts)} prompts cannot give {measured} requests and {warmups} warm-ups "
            "without repeating one; lower `requests` or choose a larger workload"
        )
    window = prompts[:measured]
    random.Random(seed).shuffle(window)
    return window + prompts[measured:needed]


def _files(data_set: DataSet, folder: Path) -> list[Path]:
    match data_set.source:
        case PackageSource(members=names) | PathSource(files=names) if names:
            return [folder / name for name in sorted(names)]
        case PathSource(path=path):
            return [folder / Path(path).name]
        case source:
            names = {path: str(path.relative_to(folder)) for path in folder.rglob("*")}
            wanted = [p for p, n in names.items() if any(fnmatch(n, f) for f in source.files)]
            return sorted(path for path in wanted if path.is_file())


def _rows(path: Path, reader: Reader) -> list[dict]:
    match reader.format:
        case "yaml":
            return YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        case "json":
            return json.loads(path.read_text(encoding="utf-8"))
        case "jsonl" | "jsonl.gz":
            # Not str.splitlines: texts hold separators that end no line of JSON.
            opened = gzip.open if reader.format == "jsonl.gz" else open
            with opened(path, "rt", encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.strip()]
        case "parquet":
            return pq.read_table(path).to_pylist()
        case "text":
            return [{"text": path.read_text(encoding="utf-8")}]


def _kept(row: dict, reader: Reader) -> bool:
    try:
        return all(
            f"{{{key}}}".format_map(row) == value for key, value in (reader.keep or {}).items()
        )
    except (KeyError, IndexError):
        return False


def _prompt(name: str, index: int, row: dict, reader: Reader) -> Prompt:
    where = f"config/datasets.yaml: {name}.reader"
    try:
        return Prompt(
            prompt_id=str(row[reader.id]) if reader.id else f"{name}-{index}",
            messages=[{"role": "user", "content": reader.prompt.format_map(row)}],
            answer=str(row[reader.answer]) if reader.answer else None,
            category=str(row[reader.category]) if reader.category else None,
            extra={key: str(row[key]) for key in reader.extra},
        )
    except (KeyError, IndexError) as missing:
        raise WorkloadError(
            f"{where}\n  found    a row {index} without {missing}\n"
            f"  allowed  {', '.join(sorted(row))}"
        ) from None
