"""Cells whose load another client generates, in one engine start of their own.

Warm-ups are ours, so that the window holds the client's requests and nothing else; rows come from
its export, which is kept. What the export does not tell stays null.
"""

import time
from dataclasses import asdict, replace
from datetime import UTC, datetime

from specdock.clients import generator_of
from specdock.clients.contract import ClientFailed, Generated, Load
from specdock.clients.drive import drive, environment_of
from specdock.environments.build import BuiltEnvironment
from specdock.plan.spec import CellSpec, ClientSpec, SessionSpec
from specdock.runs.client import CellFailed
from specdock.runs.exchange import request_body
from specdock.runs.ledger import FinishedCell, Ledger
from specdock.runs.requests import RequestRow
from specdock.runs.serving import Bench, Serving
from specdock.runs.session import measure_each


def load_of(serving: Serving, cell: CellSpec, client: ClientSpec) -> Load:
    """What a client is to send to measure a cell as ours would."""
    scenario, bench, spec = cell.scenario, serving.bench, serving.spec
    prompts = bench.prompts(cell)[: scenario.requests]
    body = bench.adapter.body(spec.arm, scenario)
    return Load(
        base_url=serving.server.base_url,
        engine=spec.arm.engine.adapter,
        prompts=prompts,
        bodies=[request_body(body, prompt, spec.seed) for prompt in prompts],
        streams=scenario.streams,
        timeout=scenario.request_timeout,
        tokenizer=bench.placed.target,
        flags=client.flags,
    )


def measure_generated(
    spec: SessionSpec, cells: list[CellSpec], ledger: Ledger, bench: Bench
) -> None:
    """Measures `cells` into the ledger, each by its load generator; raises as `measure_each`."""
    clients = {cell.scenario.load_generator.name: cell.scenario.load_generator for cell in cells}
    built = {name: environment_of(client, bench.root) for name, client in clients.items()}

    def measure(serving: Serving, cell: CellSpec) -> FinishedCell:
        environment = built[cell.scenario.load_generator.name]
        try:
            return _measure(serving, cell, environment)
        except ClientFailed as fault:
            raise CellFailed(str(fault), rows=[]) from None

    measure_each(spec, cells, ledger, bench, measure)


def _measure(serving: Serving, cell: CellSpec, environment: BuiltEnvironment) -> FinishedCell:
    scenario, client = cell.scenario, cell.scenario.load_generator
    load = load_of(serving, cell, client)
    serving.bench.progress.cell(scenario.id, scenario.requests)
    serving.empty_caches()
    warm = serving.warm_up(cell)
    texts = {"before": serving.metrics()}
    exports = (serving.folder / f"export-{cell.fingerprint}").relative_to(serving.bench.root)
    argv = drive(client, environment.python, load, exports, serving.bench.root)
    texts["after"] = serving.metrics()
    generated = generator_of(client).rows(serving.bench.root / exports, load)
    _check(client, load, generated.rows)
    facts = {
        "cell": cell.fingerprint,
        "scenario": scenario.id,
        "session": serving.session,
        "window_start": datetime.fromtimestamp(generated.window_start, UTC).isoformat(),
        "wall": max(row.t_end for row in generated.rows),
        # Its processes also start and stop meanwhile, so their cost says nothing of the window.
        "client_cpu": None,
        "loop_lag": None,
        "load_generator": {
            "name": client.name,
            "argv": argv,
            "lock_sha256": environment.lock_sha256,
            "packages": environment.packages,
        },
    }
    rows = serving.table(cell, [*_shifted(warm, generated), *generated.rows])
    return FinishedCell(facts, rows, texts, serving.bench.root / exports)


def _check(client: ClientSpec, load: Load, rows: list[RequestRow]) -> None:
    """Every prompt was asked, each one time, and answered; raises `CellFailed`."""
    asked = sorted(row.prompt_id for row in rows)
    if asked != sorted(prompt.prompt_id for prompt in load.prompts):
        raise CellFailed(
            f"{client.name} tells of {len(asked)} requests, {len(set(asked))} of them different; "
            f"it was given {len(load.prompts)}",
            rows,
        )
    if failed := [row for row in rows if row.error]:
        said = f"{len(failed)} of {len(rows)} requests failed; the first: {failed[0].error}"
        raise CellFailed(f"{client.name}: {said}", rows)


def _shifted(warm: list[RequestRow], generated: Generated) -> list[RequestRow]:
    """Warm-ups, from our monotonic clock to seconds from the window's start."""
    zero = generated.window_start - (time.time() - time.monotonic())

    def moved(row: RequestRow) -> RequestRow:
        times = {
            name: value - zero
            for name, value in asdict(row).items()
            if name.startswith("t_") and value is not None
        }
        return replace(row, **times, chunk_times=[at - zero for at in row.chunk_times])

    return [moved(row) for row in warm]
