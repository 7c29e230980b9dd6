"""An engine process: it cannot outlive us, is watched until ready, and is stopped for good."""

import ctypes
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from specdock.errors import SpecdockError
from specdock.runs.leash import end, hold

_PR_SET_PDEATHSIG = 1
_STOP = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
_LIBC = ctypes.CDLL(None, use_errno=True)


class EngineFailed(SpecdockError):
    """The engine died or did not get ready; the text quotes the end of its log."""


def die_with_parent(how: signal.Signals = signal.SIGTERM) -> None:
    """Asks Linux to send this process a signal when its parent ends, however it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, how)


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One engine start; use as a context manager.

    It runs in `root`, the repository, so that its command line needs no absolute path. Every line
    of its output is written to `log` behind a UTC time stamp, since engines' own stamps lack the
    year and fractions of a second; the paths of the repository and of the home folder become `.`
    and `~`, so that a committed log names nobody's folders.
    """

    def __init__(
        self, argv: list[str], variables: dict[str, str], port: int, log: Path, root: Path
    ):
        self.argv = argv
        self.variables = variables
        self.base_url = f"http://127.0.0.1:{port}"
        self.log = log
        self._root = root
        self.ready_after: float | None = None

    def __enter__(self) -> "Server":
        self.started_at = datetime.now(UTC)
        self._start = time.monotonic()
        self._file = self.log.open("w", encoding="utf-8")
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        try:
            self._process = subprocess.Popen(
                self.argv,
                cwd=self._root,
                env=inherited | self.variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._file.close()
            raise EngineFailed(f"{self.argv[0]} does not start: {error.strerror}") from None
        self._leash = hold(self._process.pid)
        self._reader = threading.Thread(
            target=self._copy, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _copy(self, stream: IO[bytes]) -> None:
        for raw in stream:
            line = self._public(raw.decode("utf-8", "replace").rstrip())
            stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._file.write(f"{stamp} {line}\n")
            self._file.flush()

    def _public(self, text: str) -> str:
        """Text of the engine without the names of this machine's folders."""
        return text.replace(str(self._root), ".").replace(str(Path.home()), "~")

    @property
    def running(self) -> bool:
        """Whether the engine process is alive."""
        return self._process.poll() is None

    def wait_ready(self, health: str, timeout: float, on_wait: Callable[[float], None]) -> None:
        """Polls the health endpoint; raises `EngineFailed` on death or after `timeout` seconds."""
        while True:
            waited = time.monotonic() - self._start
            if not self.running:
                raise EngineFailed(
                    f"the engine ended by itself after {waited:.0f} s, before it was ready "
                    f"({_ending(self._process.returncode)}); {self.last_words()}"
                )
            if self.answers(health):
                self.ready_after = time.monotonic() - self._start
                return
            if waited > timeout:
                raise EngineFailed(
                    f"the engine was not ready after {timeout:.0f} s (ready_timeout of the arm); "
                    f"{self.last_words()}"
                )
            on_wait(waited)
            time.sleep(0.25)

    def answers(self, path: str) -> bool:
        """Whether a GET of the path is answered with success."""
        try:
            with urllib.request.urlopen(self.base_url + path, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def get(self, path: str) -> str | None:
        """Body of a GET without this machine's paths; None where the engine does not answer."""
        try:
            with urllib.request.urlopen(self.base_url + path, timeout=30) as answer:
                return self._public(answer.read().decode("utf-8", "replace"))
        except (urllib.error.URLError, OSError):
            return None

    def post(self, path: str) -> bool:
        """Whether an empty POST succeeds."""
        request = urllib.request.Request(self.base_url + path, data=b"", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def last_words(self, lines: int = 12) -> str:
        """The end of the log, for a message."""
        self._reader.join(timeout=1)
        tail = self.log.read_text(encoding="utf-8").splitlines()[-lines:]
        quoted = "\n".join(f"    {line[:300]}" for line in tail) or "    (it said nothing)"
        return f"the end of its log {self.log}:\n{quoted}"

    def stop(self) -> None:
        """Interrupts the process group, then terminates, then kills it: nothing keeps the GPU."""
        end(self._process.pid, _STOP, self._process.poll)
        self._process.wait()
        self._leash.communicate()
        self._reader.join(timeout=5)
        self._file.close()


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
