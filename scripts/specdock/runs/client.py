"""Measures one cell: a closed loop of streamed chat completions at a set concurrency.

Each stream sends its next prompt when its last request has ended. Warm-ups, at least one a stream,
are drained before the measured window opens, so that no request of theirs reaches into it.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp

from specdock.errors import SpecdockError
from specdock.plan.fingerprint import canonical
from specdock.runs.exchange import Exchange, open_session, request_body
from specdock.runs.requests import RequestRow
from specdock.workloads.prompts import Prompt

TICK_SECONDS = 0.05
TICKS_PER_REPORT = 10


class CellFailed(SpecdockError):
    """Requests of a cell failed; `rows` keeps every request that was sent."""

    def __init__(self, message: str, rows: list[RequestRow]):
        super().__init__(message)
        self.rows = rows


@dataclass(frozen=True)
class CellPlan:
    """How a cell is measured: a body is a request without messages and seed, times in seconds."""

    streams: int
    requests: int
    warmups: int
    body: dict[str, Any]
    warmup_body: dict[str, Any]
    seed: int
    request_timeout: float

    def __post_init__(self) -> None:
        if self.warmups < self.streams:
            raise SpecdockError(
                f"warmups is {self.warmups}, but each of the {self.streams} streams needs one at "
                "least; raise it, or leave it out"
            )


@dataclass(frozen=True)
class CellMeasurement:
    """A measured cell.

    `rows` has the warm-ups first; `window_start` is in Unix time, `wall` in seconds until the last
    stream closed, `client_cpu` in CPU seconds of this process within the window, and `loop_lag` in
    milliseconds: the latest that the client's event loop woke up (None of a client without one).
    """

    rows: list[RequestRow]
    window_start: float
    wall: float
    client_cpu: float
    loop_lag: float | None


async def measure_cell(
    base_url: str,
    prompts: Sequence[Prompt],
    plan: CellPlan,
    on_progress: Callable[[int, int], None],
    on_window: Callable[[str], None],
) -> CellMeasurement:
    """Measures the first `plan.requests` prompts, after the next `plan.warmups` as warm-ups.

    `on_progress` gets the requests complete and the tokens received in the window, first when it
    opens, then twice a second, last when it is over;
    `on_window` gets "before" and "after" while no request is under way, and may block.
    Raises `CellFailed` if any request failed.
    """
    _check_prompts(prompts, plan)
    warmup = await warm_up(base_url, prompts, plan)
    on_window("before")
    measured = Phase("measured", prompts[: plan.requests], plan.body, plan)
    await measured.run(base_url, on_progress)
    rows = warmup.rows(zero=measured.opened) + measured.rows(zero=measured.opened)
    measured.check(rows)
    on_window("after")
    return CellMeasurement(
        rows=rows,
        window_start=measured.opened_at,
        wall=max(row.t_end for row in rows),
        client_cpu=measured.cpu,
        loop_lag=measured.lag * 1000,
    )


async def warm_up(base_url: str, prompts: Sequence[Prompt], plan: CellPlan) -> "Phase":
    """Sends the warm-ups of a cell, as `measure_cell` does; raises `CellFailed` if one failed."""
    warmup = Phase("warmup", prompts[plan.requests :][: plan.warmups], plan.warmup_body, plan)
    await warmup.run(base_url, lambda requests, tokens: None)
    warmup.check(warmup.rows(zero=warmup.opened))
    return warmup


def _check_prompts(prompts: Sequence[Prompt], plan: CellPlan) -> None:
    needed = plan.requests + plan.warmups
    if len(prompts) < needed:
        raise SpecdockError(
            f"the cell needs {needed} prompts, {plan.requests} to measure and {plan.warmups} to "
            f"warm up, but was given {len(prompts)}"
        )
    seen: dict[str, str] = {}
    for prompt in prompts[:needed]:
        other = seen.setdefault(canonical(prompt.messages), prompt.prompt_id)
        if other != prompt.prompt_id:
            raise SpecdockError(
                f"prompts {other} and {prompt.prompt_id} are the same text; a repeated prompt is "
                "drafted and cached too well"
            )


class Phase:
    """The closed loop over one list of prompts, with the client's own cost and lag."""

    def __init__(self, name: str, prompts: Sequence[Prompt], body: dict[str, Any], plan: CellPlan):
        self._name = name
        self._plan = plan
        # Bodies are made ahead, so that the loop does nothing but send and read.
        self._exchanges = [
            Exchange(i, prompt, request_body(body, prompt, plan.seed))
            for i, prompt in enumerate(prompts)
        ]
        self._server_gone = False
        self.lag = 0.0

    async def run(self, base_url: str, on_progress: Callable[[int, int], None]) -> None:
        """Keeps every stream busy until the prompts are used up or the server is gone."""
        async with open_session(base_url) as session:
            waiting = iter(self._exchanges)
            self.opened, self.opened_at = time.monotonic(), time.time()
            cpu = time.process_time()
            self._report(on_progress)
            watch = asyncio.create_task(self._watch(on_progress))
            try:
                await asyncio.gather(
                    *(self._stream(n, waiting, session) for n in range(self._plan.streams))
                )
            finally:
                watch.cancel()
            self.cpu = time.process_time() - cpu
        self._report(on_progress)

    async def _stream(
        self, number: int, waiting: Iterator[Exchange], session: aiohttp.ClientSession
    ) -> None:
        for exchange in waiting:
            exchange.stream, exchange.t_enqueue = number, time.monotonic()
            try:
                await exchange.run(session, self._plan.request_timeout)
            except aiohttp.ClientConnectionError:
                self._server_gone = True
            if self._server_gone:
                return

    async def _watch(self, on_progress: Callable[[int, int], None]) -> None:
        """Notes how late the loop wakes, and reports progress now and then."""
        woke = time.monotonic()
        for tick in itertools.count(1):
            due = woke + TICK_SECONDS
            await asyncio.sleep(due - time.monotonic())
            woke = time.monotonic()
            self.lag = max(self.lag, woke - due)
            if tick % TICKS_PER_REPORT == 0:
                self._report(on_progress)

    def _report(self, on_progress: Callable[[int, int], None]) -> None:
        complete = sum(e.t_end is not None and e.error is None for e in self._exchanges)
        on_progress(complete, sum(e.answer.tokens for e in self._exchanges))

    def rows(self, zero: float) -> list[RequestRow]:
        """Rows of the requests that were sent."""
        sent = (exchange for exchange in self._exchanges if exchange.t_end is not None)
        return [exchange.row(self._name, zero) for exchange in sent]

    def check(self, rows: list[RequestRow]) -> None:
        """Raises `CellFailed` with `rows` if a request of this phase failed."""
        failed = [exchange for exchange in self._exchanges if exchange.error is not None]
        if not failed:
            return
        first = min(failed, key=lambda exchange: exchange.t_end)
        moment = datetime.fromtimestamp(self.opened_at + first.t_end - self.opened, UTC)
        unsent = sum(exchange.t_end is None for exchange in self._exchanges)
        gone = f"; the server is gone, {unsent} were not sent" if self._server_gone else ""
        raise CellFailed(
            f"{len(failed)} of {len(self._exchanges)} {self._name} requests failed{gone}; the "
            f"first, prompt {first.prompt.prompt_id}: {first.error}; see what the engine's log "
            f"says at {moment:%H:%M:%S} UTC",
            rows,
        )
