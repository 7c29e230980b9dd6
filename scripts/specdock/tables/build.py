"""Raw sessions become the study's tables, one session at a time, so that memory does not grow."""

import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from specdock.plan.spec import SessionSpec
from specdock.runs.power import POWER_SCHEMA, window_energy
from specdock.tables.cells import cell_row
from specdock.tables.counters import counter_deltas
from specdock.tables.evidence import find_evidence
from specdock.tables.requests import request_rows
from specdock.tables.schema import CELLS, REQUESTS, SESSIONS
from specdock.tables.sessions import session_row

_RAW_COLUMNS = [
    "cell", "arm", "scenario", "seed", "session", "phase", "request", "prompt_id", "category",
    "prompt_sha256", "t_send", "t_first", "t_last", "t_end", "chunk_tokens", "finish_reason",
    "prompt_tokens", "completion_tokens", "cached_tokens", "step_accepted", "step_drafted",
    "engine_metrics", "error",
]  # fmt: skip


def build_tables(packs: list[tuple[Path, Path, Path]], root: Path, out: Path) -> None:
    """Writes requests, sessions, cells and power as Parquet under `out`.

    `packs` are (manifest.json, resolved spec, grades.parquet) of every session, in the order of the
    plan. The manifest says what was measured, the spec how it is judged.
    """
    out.mkdir(parents=True, exist_ok=True)
    schemas = {"requests": REQUESTS, "sessions": SESSIONS, "cells": CELLS, "power": POWER_SCHEMA}
    writers = {
        name: pq.ParquetWriter(out / f"{name}.parquet", schema, compression="zstd")
        for name, schema in schemas.items()
    }
    try:
        for pack in packs:
            for name, table in _tables_of(*pack, root).items():
                writers[name].write_table(table)
    finally:
        for writer in writers.values():
            writer.close()


def _tables_of(
    manifest: Path, spec_file: Path, grades_file: Path, root: Path
) -> dict[str, pa.Table]:
    pack = manifest.parent
    content = json.loads(manifest.read_text(encoding="utf-8"))
    now = SessionSpec.model_validate_json(spec_file.read_text(encoding="utf-8"))
    spec = SessionSpec.model_validate(content["spec"]).judged_by(now)
    arm = spec.arm
    shown = {name: str((pack / name).relative_to(root)) for name in content["files"]}
    raw = pq.read_table(pack / "requests.parquet", columns=_RAW_COLUMNS)
    metrics = {(m["cell"], m["moment"]): m["text"] for m in _rows(pack / "metrics.parquet")}
    grades = {(g["cell"], g["request"]): g for g in _rows(grades_file)}
    power = pq.read_table(pack / "power.parquet")
    log = (pack / "server.log").read_text(encoding="utf-8").splitlines()
    evidence = {}
    for start in content["sessions"]:
        first, last = start["log_lines"]
        evidence[start["session"]] = find_evidence(
            log[first - 1 : last], arm.engine.patterns, first
        )
    scenarios = {cell.fingerprint: cell.scenario for cell in spec.cells}
    starts = {start["session"]: start for start in content["sessions"]}
    requests, cells = [], []
    for facts in content["cells"]:
        first, last = facts["rows"]
        raw_rows = raw.slice(first, last - first + 1).to_pylist()
        rows = list(request_rows(raw_rows, grades, first))
        key = {"study": spec.study, "raw_file": shown["requests.parquet"]}
        requests += [row | key for row in rows]
        start = starts[facts["session"]]
        samples = power.filter(pc.equal(power["session"], facts["session"]))
        before, after = (metrics[facts["cell"], moment] for moment in ("before", "after"))
        row = cell_row(
            arm,
            scenarios[facts["cell"]],
            facts,
            rows,
            [row for row in raw_rows if row["phase"] == "measured"],
            counter_deltas(before, after, arm.engine.counters),
            window_energy(samples, datetime.fromisoformat(facts["window_start"]), facts["wall"]),
            start,
            evidence[facts["session"]],
        )
        cells.append(row | key | {"arm": arm.name, "seed": spec.seed, "engine": arm.engine_name})
    sessions = []
    for name, start in starts.items():
        text = next(metrics[c["cell"], "after"] for c in content["cells"] if c["session"] == name)
        sessions.append(
            session_row(spec, start, text, evidence[name])
            | {"log_file": shown["server.log"], "manifest_file": str(manifest.relative_to(root))}
        )
    return {
        "requests": pa.Table.from_pylist(requests, REQUESTS),
        "sessions": _table(sessions, SESSIONS),
        "cells": _table(cells, CELLS),
        "power": power.cast(POWER_SCHEMA),
    }


def _rows(path: Path) -> list[dict]:
    return pq.read_table(path).to_pylist()


def _table(rows: list[dict], schema: pa.Schema) -> pa.Table:
    """Rows as a table; ISO times become timestamps, absent metrics null."""
    stamps = [f.name for f in schema if pa.types.is_timestamp(f.type)]
    for row in rows:
        row |= {name: datetime.fromisoformat(row[name]) for name in stamps}
    return pa.Table.from_pylist(rows, schema)
