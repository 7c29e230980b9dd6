"""The few rows that a drawer shows: one value a request for the strip, one answer to read.

tables/requests.parquet may hold millions of rows. It is read one row group at a time, only in the
columns that a strip needs, and at most `MOST` rows of a cell are kept, evenly spaced.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from specdock.article.study import Row

MOST = 12
TEXT_LIMIT = 600
COLUMNS = ["cell", "error", "ttft", "tpot", "latency", "completion_tokens", "steps"]

# What one request says of a metric that is printed for a whole cell.
PER_REQUEST = {
    "output_rate": "request_rate",
    "ttft_median": "ttft",
    "tpot_median": "tpot",
    "latency_median": "latency",
    "al_committed": "acceptance",
    "al_counter": "acceptance",
}
STRIP_WORDS = {
    "request_rate": "a request: its tokens over its own latency, tok/s",
    "ttft": "a request: sent to first content, ms",
    "tpot": "a request: decode time per token, ms",
    "latency": "a request: sent to stream closed, ms",
    "acceptance": "a request: (tokens - 1) over its verification steps",
}


@dataclass
class Sample:
    """What is shown of one cell."""

    values: dict[str, list[float]] = field(default_factory=dict)
    prompt: str = ""
    text: str = ""


def read_values(table: Path, cells: Iterable[str]) -> dict[str, Sample]:
    """Samples by cell, with values of a few of its requests, from tables/requests.parquet."""
    samples = {cell: Sample() for cell in cells}
    with pq.ParquetFile(table) as file:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=COLUMNS)
            _add_values(samples, _spread_out(rows.filter(pc.is_null(rows["error"]))))
    return samples


def add_answers(samples: dict[str, Sample], cells: Iterable[Row], root: Path) -> None:
    """Adds the first answer of each of these cells, from the session's raw file."""
    by_file: dict[str, list[Row]] = {}
    for cell in cells:
        by_file.setdefault(cell["raw_file"], []).append(cell)
    for raw_file, own in by_file.items():
        with pq.ParquetFile(root / raw_file) as file:
            for cell in own:
                if len(cell["raw_rows"]):
                    answer = _row(file, int(cell["raw_rows"][0]))
                    sample = samples[cell["cell"]]
                    sample.prompt = answer["prompt_id"] or ""
                    sample.text = (answer["text"] or "")[:TEXT_LIMIT]


def _spread_out(rows: pa.Table) -> pa.Table:
    """At most `MOST` rows of every cell, evenly spaced."""
    coded = rows["cell"].combine_chunks().dictionary_encode()
    code = np.asarray(coded.indices)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(coded.dictionary) + 1))
    kept = [
        order[np.linspace(first, end - 1, min(MOST, end - first)).astype(int)]
        for first, end in pairwise(starts)
    ]
    return rows.take(np.sort(np.concatenate(kept))) if kept else rows


def _add_values(samples: dict[str, Sample], rows: pa.Table) -> None:
    ttft, tpot, latency, tokens, steps = (
        rows[name].to_numpy(zero_copy_only=False).astype(float) for name in COLUMNS[2:]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = {
            "request_rate": tokens / latency * 1e3,
            "ttft": ttft,
            "tpot": tpot,
            "latency": latency,
            "acceptance": (tokens - 1) / steps,
        }
    for position, cell in enumerate(rows["cell"].to_pylist()):
        for name, series in columns.items():
            if cell in samples and np.isfinite(series[position]):
                shown = float(f"{series[position]:.4g}")
                samples[cell].values.setdefault(name, []).append(shown)


def _row(file: pq.ParquetFile, row: int) -> Row:
    """One row of a Parquet file, reading only the row group that holds it."""
    first = 0
    for group in range(file.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if row < first + size:
            rows = file.read_row_group(group, columns=["prompt_id", "text"])
            return rows.slice(row - first, 1).to_pylist()[0]
        first += size
    raise IndexError(f"row {row} of {first}")
