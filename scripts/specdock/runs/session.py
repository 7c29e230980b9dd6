"""Measures the missing cells of one arm and seed in one engine start.

The engine is started only if a cell is missing. A failed cell does not stop the others; a dead
engine does. What finished stays in the ledger, so that the next call resumes.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from prometheus_client.parser import text_string_to_metric_families

from specdock.engines.contract import Adapter, Placed
from specdock.errors import SpecdockError
from specdock.plan.spec import CellSpec, SessionSpec
from specdock.runs.bfcl import BfclPlan, measure_bfcl
from specdock.runs.client import CellFailed, CellMeasurement, CellPlan, measure_cell
from specdock.runs.ledger import FinishedCell, Ledger
from specdock.runs.power import PowerSampler
from specdock.runs.progress import Progress
from specdock.runs.requests import RequestRow, as_table
from specdock.runs.server import Server, free_port
from specdock.workloads.prompts import Prompt

SETTLE_SECONDS = 0.3
SETTLE_TRIES = 20


@dataclass(frozen=True)
class Bench:
    """What a session needs beside its spec: adapter, placed parts, facts and instruments."""

    root: Path
    adapter: Adapter
    placed: Placed
    prompts: Callable[[CellSpec], list[Prompt]]
    bfcl: Callable[[CellSpec, Path], BfclPlan]
    facts: dict
    power: Callable[[str], PowerSampler]
    progress: Progress


class SessionFailed(SpecdockError):
    """Some cells could not be measured; finished ones are kept."""


def missing_cells(spec: SessionSpec, ledger: Ledger) -> list[CellSpec]:
    """Cells of the session that the ledger does not hold."""
    return [cell for cell in spec.cells if not ledger.has(cell.fingerprint)]


def measure_missing(spec: SessionSpec, cells: list[CellSpec], ledger: Ledger, bench: Bench) -> None:
    """Starts the engine and measures `cells` into the ledger.

    Raises `SessionFailed` at the end if any cell failed, `EngineFailed` if the engine never served.
    """
    started = datetime.now(UTC)
    name = f"{spec.arm.name}.seed-{spec.seed}.{started:%Y%m%dT%H%M%SZ}"
    folder = ledger.session_folder(name)
    port = free_port()
    argv = bench.adapter.command(spec.arm, bench.placed, port)
    variables = bench.adapter.variables(spec.arm, bench.placed)
    failures: list[str] = []
    with (
        bench.power(name) as power,
        Server(argv, variables, port, folder / "server.log", bench.root) as server,
    ):
        server.wait_ready(bench.adapter.health, spec.arm.ready_timeout, bench.progress.waiting)
        identity = {path: server.get(path) for path in bench.adapter.identity}
        facts = bench.facts | {
            "session": name,
            "started_at": server.started_at.isoformat(),
            "ready_after": server.ready_after,
            "argv": argv,
            "environment": variables,
            "identity": {path: _decoded(text) for path, text in identity.items()},
            "power": power.state,
        }
        (folder / "session.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
        for cell in cells:
            try:
                finished = _measure(spec, cell, folder, server, bench)
            except CellFailed as error:
                rows = _rows(spec, cell, name, error.rows)
                pq.write_table(rows, folder / f"failed-{cell.fingerprint}.parquet")
                failures.append(f"{cell.scenario.id}: {error}")
                if not server.answers(bench.adapter.health):
                    failures.append(f"the engine is gone; {server.last_words()}")
                    break
            else:
                # Before the cell counts as finished, so that no finished cell lacks its power.
                pq.write_table(power.table(), folder / "power.parquet", compression="zstd")
                ledger.write(cell.fingerprint, finished)
    if failures:
        done = len(cells) - sum(not ledger.has(cell.fingerprint) for cell in cells)
        raise SessionFailed(
            f"{spec.arm.name}, seed {spec.seed}: {done} of {len(cells)} cells were measured "
            "and are kept; the same call again measures the rest.\n" + "\n".join(failures)
        )


def _measure(
    spec: SessionSpec, cell: CellSpec, folder: Path, server: Server, bench: Bench
) -> FinishedCell:
    scenario, session = cell.scenario, folder.name
    for path in bench.adapter.reset:
        if not server.post(path):
            raise CellFailed(f"the engine did not empty its caches at {path}", rows=[])
    texts: dict[str, str] = {}

    def window(moment: str) -> None:
        texts[moment] = _settled_metrics(server, bench.adapter, spec.arm.engine.counters.values())

    bench.progress.cell(scenario.id, scenario.requests)
    if scenario.bfcl is None:
        measured = _ask(spec, cell, server, bench, window)
    else:
        # A project root of its own, in which BFCL finds no result of another arm or seed.
        plan = bench.bfcl(cell, folder / f"bfcl-{cell.fingerprint}")
        measured = measure_bfcl(server.base_url, plan, bench.progress.request, window)
    rows = _rows(spec, cell, session, measured.rows)
    facts = {
        "cell": cell.fingerprint,
        "scenario": scenario.id,
        "session": session,
        "window_start": datetime.fromtimestamp(measured.window_start, UTC).isoformat(),
        "wall": measured.wall,
        "client_cpu": measured.client_cpu,
        "loop_lag": measured.loop_lag,
    }
    return FinishedCell(facts, rows, texts)


def _ask(
    spec: SessionSpec,
    cell: CellSpec,
    server: Server,
    bench: Bench,
    on_window: Callable[[str], None],
) -> CellMeasurement:
    scenario = cell.scenario
    plan = CellPlan(
        streams=scenario.streams,
        requests=scenario.requests,
        warmups=scenario.warmups,
        body=bench.adapter.body(spec.arm, scenario),
        seed=spec.seed,
        request_timeout=scenario.request_timeout,
    )
    prompts = bench.prompts(cell)
    return asyncio.run(
        measure_cell(server.base_url, prompts, plan, bench.progress.request, on_window)
    )


def _rows(spec: SessionSpec, cell: CellSpec, session: str, rows: list[RequestRow]) -> pa.Table:
    return as_table(
        rows,
        cell=cell.fingerprint,
        arm=spec.arm.name,
        scenario=cell.scenario.id,
        seed=spec.seed,
        session=session,
    )


def _settled_metrics(server: Server, adapter: Adapter, names: Iterable[str]) -> str:
    """/metrics once its counters stand still: they reach the front end a step late."""
    before: dict[str, float] | None = None
    for _ in range(SETTLE_TRIES):
        text = server.get(adapter.metrics)
        if text is None:
            raise CellFailed(f"the engine does not answer {adapter.metrics}", rows=[])
        now = _values(text, set(names))
        if now == before:
            return text
        before = now
        time.sleep(SETTLE_SECONDS)
    raise CellFailed(
        f"the engine's counters still move {SETTLE_TRIES * SETTLE_SECONDS:.0f} s after the last "
        "request; something else is using this server",
        rows=[],
    )


def _values(text: str, names: set[str]) -> dict[tuple, float]:
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in names
    }


def _decoded(text: str | None) -> object:
    try:
        return json.loads(text) if text is not None else None
    except json.JSONDecodeError:
        return text
