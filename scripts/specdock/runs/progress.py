"""Shows how far a session is: one living line on a terminal, a few plain lines in a log."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

PLAIN_SECONDS = 30.0


class Progress:
    """Progress of one arm and seed, as a context manager.

    `say` is kept everywhere. What moves is a line drawn anew on a terminal; elsewhere, and in
    `log`, it is a plain line every half minute.
    """

    def __init__(
        self,
        arm: str,
        seed: int,
        cells: int,
        missing: int,
        log: Path,
        console: Console | None = None,
    ):
        self._name = f"{arm}, seed {seed}"
        self._cells = cells
        self._missing = missing
        self._log = log
        self._console = console or Console(stderr=True)
        # Drawn only when something is told, so that no thread competes with the client.
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[pace]}", markup=False),
            console=self._console,
            auto_refresh=False,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._cell = 0
        self._noted = time.monotonic()

    def __enter__(self) -> "Progress":
        self._file = self._log.open("a", encoding="utf-8", buffering=1)
        self._bar.start()
        self._task = self._bar.add_task(self._name, total=None, pace="")
        self.say(f"{_count(self._cells, 'cell')}, {self._missing} to run")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._file.close()

    def say(self, text: str) -> None:
        """Tells something once."""
        self._print(text)
        self._keep(text)

    def waiting(self, seconds: float) -> None:
        """The engine has been starting for so long."""
        text = f"waiting for the engine, {seconds:.0f} s"
        self._bar.update(self._task, description=f"{self._name}  {text}", refresh=True)
        self._now_and_then(text)

    def cell(self, scenario: str, requests: int) -> None:
        """The warm-ups of the next cell begin."""
        self._cell += 1
        self._scenario = scenario
        self._requests = requests
        self._opened: float | None = None
        place = f"cell {self._cell} of {self._missing}"
        self._bar.reset(
            self._task,
            total=requests,
            description=f"{self._name}  {place}  {scenario}",
            pace="warming up",
        )
        self._bar.refresh()
        self._plain(f"{place}: {scenario}, {_count(requests, 'request')}")

    def request(self, done: int, tokens: int) -> None:
        """Requests complete and tokens received so far; the first call opens the window."""
        now = time.monotonic()
        if self._opened is None:
            self._opened = now
        elapsed = now - self._opened
        rate = f"{tokens / elapsed:.1f} tok/s" if elapsed else ""
        left = elapsed * (self._requests - done) / done if done else None
        pace = rate if left is None else f"{rate}, {timedelta(seconds=round(left))} left"
        so_far = f"{done} of {_count(self._requests, 'request')}, {pace}"
        self._bar.update(self._task, completed=done, pace=so_far, refresh=True)
        if done == self._requests:
            self.say(f"{self._scenario}: {_count(done, 'request')} in {elapsed:.1f} s, {rate}")
        else:
            self._now_and_then(f"{self._scenario}: {so_far}")

    def _now_and_then(self, text: str) -> None:
        if time.monotonic() - self._noted >= PLAIN_SECONDS:
            self._plain(text)

    def _plain(self, text: str) -> None:
        """A line where nothing can be drawn anew."""
        if not self._console.is_terminal:
            self._print(text)
        self._keep(text)

    def _print(self, text: str) -> None:
        self._console.print(f"{self._name}: {text}", markup=False, highlight=False, soft_wrap=True)

    def _keep(self, text: str) -> None:
        self._noted = time.monotonic()
        stamp = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self._file.write(f"{stamp} {text}\n")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
