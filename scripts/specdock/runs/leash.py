"""Ends an engine's process group once whoever started it is gone, however it went.

A signal at the parent's death reaches the engine's first process only, and an engine that is still
loading may ignore it. This process waits at a pipe that the kernel closes with the parent.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE = 10.0


def hold(group: int) -> subprocess.Popen:
    """Starts the watcher of a process group; close its standard input to let go of it."""
    return subprocess.Popen(
        [sys.executable, Path(__file__), str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end(group: int) -> None:
    """Terminates every process of the group, and kills what is left ten seconds later."""
    for how, patience in ((signal.SIGTERM, _PATIENCE), (signal.SIGKILL, 0.0)):
        until = time.monotonic() + patience
        while True:
            try:
                os.killpg(group, how)
            except ProcessLookupError:
                return
            if time.monotonic() >= until:
                break
            time.sleep(0.5)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end(int(sys.argv[1]))
