"""Ends an engine's process group once whoever started it is gone, however it went.

A signal at the parent's death reaches the engine's first process only, and an engine that is still
loading may ignore it. This process waits at a pipe that the kernel closes with the parent.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

Step = tuple[signal.Signals, float]
_AT_ONCE: Sequence[Step] = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))


def hold(group: int) -> subprocess.Popen:
    """Starts the watcher of a process group; close its standard input to let go of it."""
    return subprocess.Popen(
        [sys.executable, Path(__file__), str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end(group: int, steps: Sequence[Step], reap: Callable[[], object] = lambda: None) -> None:
    """Sends the signals to every process of the group in turn, each with its patience in seconds,
    until none is left. `reap` collects a child that ended, which would count as there else."""
    for how, patience in steps:
        with suppress(ProcessLookupError):
            os.killpg(group, how)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            reap()
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end(int(sys.argv[1]), _AT_ONCE)
