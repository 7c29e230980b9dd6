"""The ledger of finished cells: each is written whole or not at all, and found by fingerprint.

It lies outside Snakemake's declared outputs, which a failed job loses. Packed sessions of the same
arm and seed are read too, so that a clone with committed results measures only what is new.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specdock.runs.power import POWER_SCHEMA
from specdock.runs.requests import REQUEST_SCHEMA

METRICS_SCHEMA = pa.schema(
    [
        pa.field("cell", pa.string(), metadata={"description": "fingerprint of the cell"}),
        pa.field("moment", pa.string(), metadata={"description": "before or after the window"}),
        pa.field("text", pa.string(), metadata={"description": "the engine's /metrics, verbatim"}),
    ]
)

PACKED = ("requests.parquet", "metrics.parquet", "power.parquet", "server.log")


@dataclass(frozen=True)
class FinishedCell:
    """A measured cell: facts as a JSON-able dict, request rows, /metrics before and after.

    `export` is the folder of what a load generator that is not ours has left.
    """

    facts: dict
    requests: pa.Table
    metrics: dict[str, str]
    export: Path | None = None


class Ledger:
    """Finished cells and engine starts of one arm and seed, as folders of small files."""

    def __init__(self, folder: Path):
        self.cells = folder / "cells"
        self.sessions = folder / "sessions"
        self.cells.mkdir(parents=True, exist_ok=True)
        self.sessions.mkdir(parents=True, exist_ok=True)

    def has(self, cell: str) -> bool:
        """Whether the cell of this fingerprint is finished."""
        return (self.cells / cell).is_dir()

    def write(self, cell: str, finished: FinishedCell) -> None:
        """Keeps a finished cell; a crash in between leaves nothing that `has` would see."""
        part = self.cells / f"{cell}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        pq.write_table(finished.requests, part / "requests.parquet", compression="zstd")
        (part / "metrics.json").write_text(json.dumps(finished.metrics), encoding="utf-8")
        if finished.export is not None:
            shutil.copytree(finished.export, part / "export")
        (part / "cell.json").write_text(json.dumps(finished.facts, indent=1), encoding="utf-8")
        part.rename(self.cells / cell)

    def read(self, cell: str) -> FinishedCell:
        """The finished cell of this fingerprint."""
        folder = self.cells / cell
        return FinishedCell(
            json.loads((folder / "cell.json").read_text(encoding="utf-8")),
            pq.read_table(folder / "requests.parquet"),
            json.loads((folder / "metrics.json").read_text(encoding="utf-8")),
            _if_there(folder / "export"),
        )

    def session_folder(self, session: str) -> Path:
        """Where an engine start keeps its log, its facts and its power samples."""
        folder = self.sessions / session
        folder.mkdir(exist_ok=True)
        return folder

    def restore(self, packs: Path, wanted: set[str]) -> None:
        """Takes wanted cells that are missing here from packed sessions beside the new one."""
        for manifest in sorted(packs.glob("*/manifest.json")):
            content = json.loads(manifest.read_text(encoding="utf-8"))
            lost = [c for c in content["cells"] if c["cell"] in wanted and not self.has(c["cell"])]
            if lost:
                self._unpack(manifest.parent, content, lost)

    def _unpack(self, pack: Path, content: dict, cells: list[dict]) -> None:
        requests = pq.read_table(pack / "requests.parquet")
        metrics = pq.read_table(pack / "metrics.parquet").to_pylist()
        power = pq.read_table(pack / "power.parquet")
        log = (pack / "server.log").read_text(encoding="utf-8").splitlines(keepends=True)
        for session in content["sessions"]:
            folder = self.session_folder(session["session"])
            first, last = session["log_lines"]
            (folder / "server.log").write_text("".join(log[first - 1 : last]), encoding="utf-8")
            (folder / "session.json").write_text(json.dumps(session), encoding="utf-8")
            own = pa.compute.equal(power["session"], session["session"])
            pq.write_table(power.filter(own), folder / "power.parquet")
        for cell in cells:
            first, last = cell["rows"]
            texts = {m["moment"]: m["text"] for m in metrics if m["cell"] == cell["cell"]}
            rows = requests.slice(first, last - first + 1)
            export = _if_there(pack / "exports" / cell["cell"])
            self.write(cell["cell"], FinishedCell(cell, rows, texts, export))

    def pack(self, cells: list[str], out: Path) -> dict:
        """Writes the declared outputs but the manifest; returns its `cells` and `sessions`.

        Exports of other load generators go to `exports/<cell>/` beside them.
        """
        out.mkdir(parents=True, exist_ok=True)
        finished = [self.read(cell) for cell in cells]
        for cell in finished:
            if cell.export is not None:
                shutil.copytree(
                    cell.export, out / "exports" / cell.facts["cell"], dirs_exist_ok=True
                )
        facts, row = [], 0
        with pq.ParquetWriter(out / "requests.parquet", REQUEST_SCHEMA, compression="zstd") as file:
            for cell in finished:
                file.write_table(cell.requests.cast(REQUEST_SCHEMA))
                facts.append(cell.facts | {"rows": [row, row + cell.requests.num_rows - 1]})
                row += cell.requests.num_rows
        texts = [
            {"cell": cell.facts["cell"], "moment": moment, "text": text}
            for cell in finished
            for moment, text in cell.metrics.items()
        ]
        table = pa.Table.from_pylist(texts, METRICS_SCHEMA)
        pq.write_table(table, out / "metrics.parquet", compression="zstd")
        used = list(dict.fromkeys(cell["session"] for cell in facts))
        return {"cells": facts, "sessions": self._pack_sessions(used, out)}

    def _pack_sessions(self, used: list[str], out: Path) -> list[dict]:
        sessions, line = [], 0
        with (
            (out / "server.log").open("w", encoding="utf-8") as log,
            pq.ParquetWriter(out / "power.parquet", POWER_SCHEMA, compression="zstd") as power,
        ):
            for name in used:
                folder = self.sessions / name
                facts = json.loads((folder / "session.json").read_text(encoding="utf-8"))
                text = (folder / "server.log").read_text(encoding="utf-8")
                log.write(text)
                lines = text.count("\n")
                sessions.append(facts | {"log_lines": [line + 1, line + lines]})
                line += lines
                power.write_table(pq.read_table(folder / "power.parquet").cast(POWER_SCHEMA))
        return sessions


def _if_there(folder: Path) -> Path | None:
    return folder if folder.is_dir() else None
