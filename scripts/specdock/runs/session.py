"""Measures the missing cells of one arm and seed in one engine start.

The engine is started only if a cell is missing. A failed cell does not stop the others; a dead
engine does. What finished stays in the ledger, so that the next call resumes.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow.parquet as pq

from specdock.errors import SpecdockError
from specdock.plan.spec import CellSpec, SessionSpec
from specdock.runs.bfcl import measure_bfcl
from specdock.runs.client import CellFailed, CellMeasurement, measure_cell
from specdock.runs.ledger import FinishedCell, Ledger
from specdock.runs.serving import Bench, Serving, served


class SessionFailed(SpecdockError):
    """Some cells could not be measured; finished ones are kept."""


def missing_cells(spec: SessionSpec, ledger: Ledger) -> list[CellSpec]:
    """Cells of the session that the ledger does not hold."""
    return [cell for cell in spec.cells if not ledger.has(cell.fingerprint)]


def measure_missing(spec: SessionSpec, cells: list[CellSpec], ledger: Ledger, bench: Bench) -> None:
    """Starts the engine and measures `cells` into the ledger, by our client or BFCL's.

    Raises as `measure_each`.
    """
    measure_each(spec, cells, ledger, bench, _measure)


def measure_each(
    spec: SessionSpec,
    cells: list[CellSpec],
    ledger: Ledger,
    bench: Bench,
    measure: Callable[[Serving, CellSpec], FinishedCell],
) -> None:
    """Starts the engine and has `measure` bring each cell into the ledger.

    Raises `SessionFailed` at the end if any cell failed, `EngineFailed` if the engine never served.
    """
    failures: list[str] = []
    with served(spec, bench, ledger.sessions) as serving:
        for cell in cells:
            try:
                finished = measure(serving, cell)
            except CellFailed as error:
                rows = serving.table(cell, error.rows)
                pq.write_table(rows, serving.folder / f"failed-{cell.fingerprint}.parquet")
                failures.append(f"{cell.scenario.id}: {error}")
                if not serving.server.answers(bench.adapter.health):
                    failures.append(f"the engine is gone; {serving.server.last_words()}")
                    break
            else:
                # Before the cell counts as finished, so that no finished cell lacks its power.
                serving.keep_power()
                ledger.write(cell.fingerprint, finished)
    if failures:
        done = len(cells) - sum(not ledger.has(cell.fingerprint) for cell in cells)
        raise SessionFailed(
            f"{spec.arm.name}, seed {spec.seed}: {done} of {len(cells)} cells were measured "
            "and are kept; the same call again measures the rest.\n" + "\n".join(failures)
        )


def ask(serving: Serving, cell: CellSpec, on_window: Callable[[str], None]) -> CellMeasurement:
    """Our client measures a cell; `on_window` as in `measure_cell`. Raises `CellFailed`."""
    prompts, report = serving.bench.prompts(cell), serving.bench.progress.request
    return asyncio.run(
        measure_cell(serving.server.base_url, prompts, serving.plan(cell), report, on_window)
    )


def _measure(serving: Serving, cell: CellSpec) -> FinishedCell:
    scenario, bench = cell.scenario, serving.bench
    serving.empty_caches()
    texts: dict[str, str] = {}

    def window(moment: str) -> None:
        texts[moment] = serving.metrics()

    bench.progress.cell(scenario.id, scenario.requests)
    if scenario.bfcl is None:
        measured = ask(serving, cell, window)
    else:
        # A project root of its own, in which BFCL finds no result of another arm or seed.
        plan = bench.bfcl(cell, serving.folder / f"bfcl-{cell.fingerprint}")
        measured = measure_bfcl(serving.server.base_url, plan, bench.progress.request, window)
    facts = {
        "cell": cell.fingerprint,
        "scenario": scenario.id,
        "session": serving.session,
        "window_start": datetime.fromtimestamp(measured.window_start, UTC).isoformat(),
        "wall": measured.wall,
        "client_cpu": measured.client_cpu,
        "loop_lag": measured.loop_lag,
    }
    return FinishedCell(facts, serving.table(cell, measured.rows), texts)
