"""An engine that is up for clients other than ours, warmed as our client warms it.

`session.py` has the same start for our client. Its syntax tree is part of the fingerprint of every
measured cell, so it stays as it is until measuring changes for a reason of its own.
"""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq

from specdock.plan.spec import CellSpec, SessionSpec
from specdock.runs.client import CellFailed
from specdock.runs.exchange import Exchange, open_session, request_body
from specdock.runs.power import PowerSampler
from specdock.runs.requests import RequestRow
from specdock.runs.server import Server, free_port
from specdock.runs.session import Bench, _decoded, _settled_metrics
from specdock.workloads.prompts import Prompt


@dataclass(frozen=True)
class Serving:
    """One engine start: its name, its server, and its power sampler."""

    session: str
    server: Server
    power: PowerSampler
    bench: Bench
    spec: SessionSpec

    def empty_caches(self) -> None:
        """So that no cell is served from the one before; raises `CellFailed`."""
        for path in self.bench.adapter.reset:
            if not self.server.post(path):
                raise CellFailed(f"the engine did not empty its caches at {path}", rows=[])

    def metrics(self) -> str:
        """/metrics once its counters stand still; raises `CellFailed`."""
        counters = self.spec.arm.engine.counters.values()
        return _settled_metrics(self.server, self.bench.adapter, counters)

    def warm_up(self, cell: CellSpec, prompts: Sequence[Prompt]) -> list[RequestRow]:
        """Sends prompts as our client's warm-up does; times are on its monotonic clock.

        Raises `CellFailed` if one of them fails.
        """
        scenario = cell.scenario
        body = self.bench.adapter.body(self.spec.arm, scenario)
        exchanges = [
            Exchange(number, prompt, request_body(body, prompt, self.spec.seed))
            for number, prompt in enumerate(prompts)
        ]
        asyncio.run(
            _closed_loop(
                self.server.base_url, exchanges, scenario.streams, scenario.request_timeout
            )
        )
        rows = [exchange.row("warmup", zero=0.0) for exchange in exchanges]
        if failed := [row for row in rows if row.error]:
            raise CellFailed(f"{len(failed)} warm-ups failed: {failed[0].error}", rows)
        return rows

    def keep_power(self, folder: Path) -> None:
        """Writes the power samples so far."""
        pq.write_table(self.power.table(), folder / "power.parquet", compression="zstd")


@contextmanager
def served(spec: SessionSpec, bench: Bench, folders: Path) -> Iterator[tuple[Serving, Path]]:
    """The engine of a session, ready, and its folder with log and facts under `folders`.

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
        yield Serving(name, server, power, bench, spec), folder


async def _closed_loop(
    base_url: str, exchanges: list[Exchange], streams: int, timeout: float
) -> None:
    async with open_session(base_url) as session:
        waiting = iter(exchanges)

        async def stream(number: int) -> None:
            for exchange in waiting:
                exchange.stream, exchange.t_enqueue = number, time.monotonic()
                await exchange.run(session, timeout)

        await asyncio.gather(*map(stream, range(streams)))
