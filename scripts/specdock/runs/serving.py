"""An engine start: the engine up and ready, its facts kept, and what every client does to it."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from prometheus_client.parser import text_string_to_metric_families

from specdock.engines.contract import Adapter, Placed
from specdock.plan.spec import CellSpec, SessionSpec
from specdock.runs.bfcl import BfclPlan
from specdock.runs.client import CellFailed, CellPlan, warm_up
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


@dataclass(frozen=True)
class Serving:
    """One engine start: the folder with its log and facts, its server, and its power sampler."""

    folder: Path
    server: Server
    power: PowerSampler
    bench: Bench
    spec: SessionSpec

    @property
    def session(self) -> str:
        """The name of this start."""
        return self.folder.name

    def empty_caches(self) -> None:
        """So that no cell is served from the one before; raises `CellFailed`."""
        for path in self.bench.adapter.reset:
            if not self.server.post(path):
                raise CellFailed(f"the engine did not empty its caches at {path}", rows=[])

    def metrics(self) -> str:
        """/metrics once its counters stand still, which reach the front end a step late.

        Raises `CellFailed`.
        """
        path, names = self.bench.adapter.metrics, set(self.spec.arm.engine.counters.values())
        before: dict[tuple, float] | None = None
        for _ in range(SETTLE_TRIES):
            text = self.server.get(path)
            if text is None:
                raise CellFailed(f"the engine does not answer {path}", rows=[])
            now = _values(text, names)
            if now == before:
                return text
            before = now
            time.sleep(SETTLE_SECONDS)
        raise CellFailed(
            f"the engine's counters still move {SETTLE_TRIES * SETTLE_SECONDS:.0f} s after the "
            "last request; something else is using this server",
            rows=[],
        )

    def plan(self, cell: CellSpec) -> CellPlan:
        """How our client measures a cell here."""
        scenario, adapter = cell.scenario, self.bench.adapter
        return CellPlan(
            streams=scenario.streams,
            requests=scenario.requests,
            warmups=scenario.warmups,
            body=adapter.body(self.spec.arm, scenario),
            warmup_body=adapter.body(self.spec.arm, scenario.warmup),
            seed=self.spec.seed,
            request_timeout=scenario.request_timeout,
        )

    def warm_up(self, cell: CellSpec) -> list[RequestRow]:
        """Sends the warm-ups of a cell for another client; times are on our monotonic clock.

        Raises `CellFailed` if one of them fails.
        """
        warming = warm_up(self.server.base_url, self.bench.prompts(cell), self.plan(cell))
        return asyncio.run(warming).rows(zero=0.0)

    def table(self, cell: CellSpec, rows: list[RequestRow]) -> pa.Table:
        """Rows of a cell as they are kept."""
        return as_table(
            rows,
            cell=cell.fingerprint,
            arm=self.spec.arm.name,
            scenario=cell.scenario.id,
            seed=self.spec.seed,
            session=self.session,
        )

    def keep_power(self) -> None:
        """Writes the power samples so far."""
        pq.write_table(self.power.table(), self.folder / "power.parquet", compression="zstd")


@contextmanager
def served(spec: SessionSpec, bench: Bench, folders: Path) -> Iterator[Serving]:
    """The engine of a session, ready, with a folder of its own under `folders`.

    Raises `EngineFailed` if the engine never served.
    """
    name = f"{spec.arm.name}.seed-{spec.seed}.{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    folder = folders / name
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    argv = bench.adapter.command(spec.arm, bench.placed, port)
    variables = bench.adapter.variables(spec.arm, bench.placed)
    with (
        bench.power(name) as power,
        Server(argv, variables, port, folder / "server.log", bench.root) as server,
    ):
        server.wait_ready(bench.adapter.health, spec.arm.ready_timeout, bench.progress.waiting)
        facts = bench.facts | {
            "session": name,
            "started_at": server.started_at.isoformat(),
            "ready_after": server.ready_after,
            "argv": argv,
            "environment": variables,
            "identity": {path: _decoded(server.get(path)) for path in bench.adapter.identity},
            "power": power.state,
        }
        (folder / "session.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
        yield Serving(folder, server, power, bench, spec)


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
