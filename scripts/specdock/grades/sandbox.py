"""Runs a Python program of a stranger where it can do no harm, or refuses to run it at all.

bubblewrap or, without any package, util-linux builds a view of the machine from kernel namespaces
(view.py); resource limits are set inside, before the program starts. Root steps down to nobody
first.

Not contained: faults of the kernel. Memory is bounded for each process and for the scratch folder,
so that a program may take `processes` times `memory` for as long as it may run. Before Linux 5.14
the limit of processes counts those outside, too, and `probe` refuses where it is already met.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Literal

from specdock.errors import SpecdockError
from specdock.grades.view import PYTHON, as_nobody, bubblewrap, namespaces

BACKENDS = {"bubblewrap": bubblewrap, "namespaces": namespaces}

# A fixed hash seed: the order of a set must not decide a grade.
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONHASHSEED": "0"}

_STARTED = b"inside\n"
_START = """
import os, resource, sys
for name, most in {limits}.items():
    # SIGXCPU says which limit was met; a program that ignores it is killed a second later.
    hard = most + 1 if name == "RLIMIT_CPU" else most
    resource.setrlimit(getattr(resource, name), (most, hard))
os.write(2, {started})
del os, resource, name, most, hard
exec(compile(sys.argv.pop(), "<program>", "exec"))
"""

_PROBE = """
import os, socket

def refused(attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError:
        return
    raise SystemExit(f"{attempt.__name__}{arguments} is not refused")

refused(socket.socket(type=socket.SOCK_DGRAM).connect, ("192.0.2.1", 9))
refused(os.listdir, "/etc")
refused(os.listdir, "/proc")
for folder in ("/", "/usr", os.path.dirname(os.__file__)):
    if not os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise SystemExit(f"{folder} is not read-only")
os.mkdir("specdock")
if os.fork() == 0:
    os._exit(0)
"""

_REFUSAL = "answers that are programs are graded in a sandbox only, and none works here"
_REMEDY = """\
  install bubblewrap (apt-get install bubblewrap), or let the kernel make user namespaces:
  sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0
  (whichever exists); in a container, start it with the right to make user namespaces and mounts"""


class SandboxError(SpecdockError):
    """No sandbox works here, or one that worked no longer starts."""


@dataclass(frozen=True)
class Limits:
    """What a program may use: times in seconds, sizes in bytes; `cpu`, `memory` a process each."""

    wall: float = 30.0
    cpu: int = 10
    memory: int = 512 << 20
    processes: int = 8
    file_size: int = 8 << 20
    scratch: int = 32 << 20
    output: int = 256 << 10


@dataclass(frozen=True)
class Ended:
    """How a program ended: of itself with a status (128 + signal), or stopped at a limit."""

    cause: Literal["exit", "timeout", "output"]
    status: int
    output: bytes
    errors: bytes


@dataclass(frozen=True)
class Sandbox:
    """A back end, by its name in `BACKENDS`, and the limits that it keeps."""

    backend: str
    limits: Limits = Limits()

    async def run(self, program: str, stdin: bytes = b"") -> Ended:
        """Runs Python source until it ends or meets a limit; nothing that it started outlives it.

        `program` holds at most 128 KiB. Raises `SandboxError` if the sandbox does not start.
        """
        view = BACKENDS[self.backend](self.limits.scratch)
        command = [*as_nobody(), *view, *self._interpreter(), program]
        start = monotonic()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as problem:
            raise SandboxError(f"{self.backend} does not start: {problem}") from None
        # process.kill() may reap the process before asyncio does, which then loses its status.
        handle = os.pidfd_open(process.pid)
        clock = asyncio.get_running_loop().call_later(self.limits.wall, _kill, handle)
        try:
            output, errors, _, code = await asyncio.gather(
                self._read(process.stdout, handle),
                self._read(process.stderr, handle),
                _write(process.stdin, stdin),
                process.wait(),
            )
        finally:
            clock.cancel()
            _kill(handle)
            os.close(handle)
            await process.wait()
        return self._ended(code, monotonic() - start, output, errors)

    def _interpreter(self) -> list[str]:
        limits = {
            "RLIMIT_CPU": self.limits.cpu,
            "RLIMIT_AS": self.limits.memory,
            "RLIMIT_NPROC": self.limits.processes,
            "RLIMIT_FSIZE": self.limits.file_size,
            "RLIMIT_NOFILE": 64,
            "RLIMIT_CORE": 0,
        }
        # No site packages, and none from the scratch folder: a program has the standard library.
        return [PYTHON, "-sSPBc", _START.format(limits=limits, started=_STARTED)]

    async def _read(self, stream: asyncio.StreamReader, handle: int) -> bytes:
        kept = b""
        while piece := await stream.read(1 << 16):
            if len(kept) <= self.limits.output:
                kept += piece
            else:
                _kill(handle)
        return kept

    def _ended(self, code: int, elapsed: float, output: bytes, errors: bytes) -> Ended:
        status = code if code >= 0 else 128 - code
        late = status == 128 + signal.SIGXCPU or elapsed >= self.limits.wall
        if not errors.startswith(_STARTED):
            said = errors.decode(errors="replace").strip()
            why = said or ("not ready in time" if late else f"status {status}")
            raise SandboxError(f"{self.backend} does not start: {why}")
        most = self.limits.output
        full = max(len(output), len(errors)) > most
        cause = "output" if full else "timeout" if late else "exit"
        return Ended(cause, status, output[:most], errors[len(_STARTED) : most])


async def probe() -> Sandbox:
    """The first back end that keeps a program in, found by trying each once.

    Raises `SandboxError`, which says what was tried, what failed and what helps.
    """
    tried = []
    for backend in BACKENDS:
        try:
            ended = await Sandbox(backend).run(_PROBE)
        except SandboxError as problem:
            tried.append(f"  {problem}")
        else:
            if ended.status == 0:
                return Sandbox(backend)
            why = ended.errors.decode(errors="replace").strip() or ended.cause
            tried.append(f"  {backend} is of no use: {why}")
    raise SandboxError("\n".join([_REFUSAL, *tried, _REMEDY]))


def _kill(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    # A program may end without reading what it was given.
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
    stream.close()
