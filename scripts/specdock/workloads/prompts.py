"""Reads a data set by its reader and chooses the prompts of a cell."""

import gzip
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

from specdock.errors import SpecdockError
from specdock.plan.models import DataSet, PathSource, Reader


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
    rows = [row for file in _files(data_set, folder) for row in _rows(file, reader)]
    prompts = [_prompt(name, index, row, reader) for index, row in enumerate(rows)]
    ids = {prompt.prompt_id for prompt in prompts}
    if len(ids) != len(prompts):
        raise WorkloadError(f"config/datasets.yaml: {name}.reader.id: prompt ids are not unique")
    take = reader.take or {}
    return prompts[: take["first"]] if "first" in take else prompts


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
    source = data_set.source
    if isinstance(source, PathSource) and not source.files:
        return [folder / Path(source.path).name]
    names = getattr(source, "members", None) or getattr(source, "files", None)
    return sorted(path for path in folder.rglob("*") if _wanted(path, folder, names))


def _wanted(path: Path, folder: Path, names: Iterable[str] | None) -> bool:
    return path.is_file() and (names is None or str(path.relative_to(folder)) in names)


def _rows(path: Path, reader: Reader) -> list[dict]:
    match reader.format:
        case "yaml":
            return YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        case "json":
            return json.loads(path.read_text(encoding="utf-8"))
        case "jsonl":
            return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        case "jsonl.gz":
            with gzip.open(path, "rt", encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.strip()]
        case _:
            raise WorkloadError(f"{path}: a reader of format {reader.format} gives no rows")


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
    except KeyError as key:
        raise WorkloadError(
            f"{where}\n  found    the field {key}\n  allowed  {', '.join(sorted(row))}"
        ) from None
