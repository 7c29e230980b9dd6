"""Hostile programs are really run, in each back end, and get nowhere."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic
from uuid import uuid4

import pytest

from specdock.grades.sandbox import BACKENDS, Limits, Sandbox, SandboxError, probe
from tests.grades.refusal import REFUSING

ROOT = Path(__file__).parents[2]
QUICK = Limits(wall=10, cpu=2)


@pytest.fixture(params=BACKENDS)
def sandbox(request) -> Sandbox:
    return Sandbox(request.param, QUICK)


async def said(sandbox: Sandbox, program: str) -> str:
    """What the program printed; it must end of itself, and well."""
    ended = await sandbox.run(program)
    assert (ended.cause, ended.status, ended.errors) == ("exit", 0, b"")
    return ended.output.decode().strip()


ATTEMPT = """
def attempt(act, *arguments):
    try:
        print("done:", act(*arguments))
    except OSError as error:
        print("refused:", type(error).__name__)
"""


async def test_a_program_gets_its_input_and_its_output_and_status_come_back(sandbox):
    ended = await sandbox.run("import sys; print(input() + '!'); sys.exit(3)", b"hello\n")
    assert (ended.cause, ended.status, ended.output) == ("exit", 3, b"hello!\n")


async def test_a_traceback_comes_back_as_errors(sandbox):
    ended = await sandbox.run("1 / 0")
    assert ended.status == 1
    assert ended.errors.endswith(b"ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection, ('127.0.0.1', {port})",
        "socket.socket(type=socket.SOCK_DGRAM).connect, ('192.0.2.1', 53)",
        "socket.socket(socket.AF_UNIX).connect, '\\0{name}'",
        "socket.getaddrinfo, 'localhost', 80",
    ],
)
async def test_a_program_reaches_no_socket_outside(sandbox, attempt):
    name = f"specdock-{uuid4().hex}"
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    local = await asyncio.start_unix_server(lambda *_: None, f"\0{name}")
    async with server, local:
        port = server.sockets[0].getsockname()[1]
        call = attempt.format(port=port, name=name)
        output = await said(sandbox, f"import socket\n{ATTEMPT}\nattempt({call})")
    assert output.startswith("refused")


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/passwd", "/proc/1/environ", "/dev/mem"])
async def test_a_program_reads_no_file_of_the_machine(sandbox, path):
    assert (
        await said(sandbox, f"{ATTEMPT}\nattempt(open, {path!r})") == "refused: FileNotFoundError"
    )


async def test_a_program_sees_neither_the_home_nor_this_repository(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for path in (secret, ROOT / "README.md", Path.home() / ".bashrc", "/scratch/../old/etc"):
        assert (await said(sandbox, f"{ATTEMPT}\nattempt(open, {str(path)!r})")).startswith(
            "refused"
        )
    inside = await said(sandbox, f"import os; print(os.path.isdir({str(Path.home())!r}))")
    if inside == "True":  # the interpreter is under the home folder
        listed = await said(sandbox, f"import os; print(*os.listdir({str(Path.home())!r}))")
        assert Path(sys.base_prefix).is_relative_to(Path.home() / listed)


@pytest.mark.parametrize(
    "folder", ["/", "/usr", "/usr/lib", "/bin", sys.base_prefix + "/lib", "/old", "/tmp", "/etc"]
)
async def test_a_program_writes_nowhere_but_in_its_scratch_folder(sandbox, folder):
    program = f"import os\n{ATTEMPT}\nattempt(os.mkdir, {folder!r} + '/specdock-was-here')"
    assert (await said(sandbox, program)).startswith("refused")
    assert not Path(folder, "specdock-was-here").exists()


async def test_what_a_program_sees_is_mounted_read_only(sandbox):
    folders = ["/", "/usr", "/lib", f"{sys.base_prefix}/bin", f"{sys.base_prefix}/lib"]
    program = f"import os; print([os.statvfs(f).f_flag & os.ST_RDONLY for f in {folders!r}])"
    assert await said(sandbox, program) == "[1, 1, 1, 1, 1]"


async def test_the_scratch_folder_takes_files_and_forgets_them(sandbox):
    program = "import os; print(os.getcwd(), os.listdir('.')); open('mine', 'w').write('x')"
    assert await said(sandbox, program) == "/scratch []"
    assert await said(sandbox, program) == "/scratch []"


async def test_symbolic_links_in_the_scratch_folder_lead_nowhere(sandbox, tmp_path):
    target = tmp_path / "target"
    target.write_text("untouched")
    program = f"""
import os
{ATTEMPT}
os.symlink({str(target)!r}, "link")
os.symlink("/", "root")
attempt(open, "link")
attempt(open, "root/etc/passwd")
attempt(open, "root/usr/written", "w")
attempt(os.link, "/usr/bin/env", "hard")
"""
    output = await said(sandbox, program)
    assert output.count("refused") == 4
    assert target.read_text() == "untouched"


async def test_a_program_has_no_environment_and_no_privilege(sandbox, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    names = await said(sandbox, "import os; print(*sorted(os.environ))")
    assert "HF_TOKEN" not in names
    assert set(names.split()) <= {"PATH", "PWD", "OLDPWD", "PYTHONHASHSEED", "LC_CTYPE", "SHLVL"}


async def test_a_program_can_neither_mount_nor_make_namespaces(sandbox):
    program = """
import ctypes
libc = ctypes.CDLL(None)
print(libc.unshare(0x10000000), libc.unshare(0x20000), libc.umount2(b"/scratch", 2))
print(libc.chroot(b"/scratch"), libc.sethostname(b"x", 1), libc.mount(b"a", b".", b"tmpfs", 0, 0))
"""
    assert (await said(sandbox, program)).split() == ["-1"] * 6


async def test_a_program_cannot_raise_its_own_limits(sandbox):
    program = """
import resource
for name in ("CPU", "AS", "NPROC", "FSIZE", "NOFILE"):
    kind = getattr(resource, f"RLIMIT_{name}")
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, OSError):
        print("refused")
"""
    assert (await said(sandbox, program)).split() == ["refused"] * 5


async def test_a_fork_bomb_meets_the_limit_of_processes(sandbox):
    program = """
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(0.2)
    except OSError:
        os._exit(7)
"""
    start = monotonic()
    ended = await sandbox.run(program)
    assert (ended.cause, ended.status) == ("exit", 7)
    assert monotonic() - start < QUICK.wall


async def test_a_thread_bomb_meets_the_same_limit(sandbox):
    program = """
import threading, time
for count in range(100):
    try:
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
    except RuntimeError:
        break
print(count < 10)
"""
    assert await said(sandbox, program) == "True"


async def test_a_memory_bomb_is_refused(sandbox):
    ended = await sandbox.run("held = []\nwhile True: held.append(bytearray(64 << 20))")
    assert ended.status == 1
    assert ended.errors.endswith(b"MemoryError\n")


async def test_neither_one_file_nor_the_scratch_folder_grows_past_its_limit(sandbox):
    program = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def fill(name):
    size = 0
    try:
        with open(name, "wb", buffering=0) as file:
            while True:
                size += file.write(bytes(1 << 20))
    except OSError:
        return size
print(fill("first"), sum(fill(str(number)) for number in range(8)))
"""
    first, others = map(int, (await said(sandbox, program)).split())
    assert first == QUICK.file_size
    assert first + others <= QUICK.scratch


async def test_an_endless_loop_ends_at_its_processor_time(sandbox):
    start = monotonic()
    ended = await Sandbox(sandbox.backend, Limits(wall=30, cpu=1)).run("while True: pass")
    assert ended.cause == "timeout"
    assert monotonic() - start < 25


async def test_an_endless_sleep_ends_at_its_wall_time(sandbox):
    program = "import time; print('asleep', flush=True); time.sleep(1000)"
    ended = await Sandbox(sandbox.backend, Limits(wall=2)).run(program)
    assert (ended.cause, ended.output) == ("timeout", b"asleep\n")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_huge_output_is_cut_and_its_program_ended(sandbox, stream):
    ended = await sandbox.run(f"import sys\nwhile True: sys.{stream}.write('x' * 65536)")
    assert ended.cause == "output"
    assert QUICK.output / 2 < max(len(ended.output), len(ended.errors)) <= QUICK.output


DAEMON = """
import os, signal, time
marker = "{marker}"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        time.sleep(1000)
    os._exit(0)
os.wait()
"""


def alive(marker: str) -> list[str]:
    """Processes of this machine whose command line holds the marker."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


async def gone(marker: str) -> bool:
    """Whether the processes end within a second."""
    for _ in range(20):
        if not alive(marker):
            return True
        await asyncio.sleep(0.05)
    return False


async def test_a_daemon_dies_with_its_program(sandbox):
    marker = uuid4().hex
    await said(sandbox, DAEMON.format(marker=marker) + "print('left')")
    assert await gone(marker)


async def test_a_daemon_dies_at_the_wall_time_too(sandbox):
    marker = uuid4().hex
    program = DAEMON.format(marker=marker) + "time.sleep(1000)"
    running = asyncio.create_task(Sandbox(sandbox.backend, Limits(wall=2)).run(program))
    while not alive(marker):
        await asyncio.sleep(0.05)
    assert (await running).cause == "timeout"
    assert await gone(marker)


async def test_everything_dies_with_a_grader_that_is_killed(sandbox):
    marker = uuid4().hex
    program = DAEMON.format(marker=marker) + "time.sleep(1000)"
    code = (
        "import asyncio; from specdock.grades.sandbox import Sandbox; "
        f"asyncio.run(Sandbox({sandbox.backend!r}).run({program!r}))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
    grader = subprocess.Popen([sys.executable, "-c", code], env=environment)
    while len(alive(marker)) < 4:
        await asyncio.sleep(0.05)
    grader.kill()
    grader.wait()
    assert await gone(marker)


async def test_everything_dies_with_a_run_that_is_cancelled(sandbox):
    marker = uuid4().hex
    running = asyncio.create_task(sandbox.run(f"import time\ntime.sleep(1000) # {marker}"))
    while not alive(marker):
        await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await gone(marker)


async def test_a_program_that_kills_all_that_it_can_see_harms_nobody_else(sandbox):
    ended = await sandbox.run("import os; os.kill(-1, 9); os.kill(os.getppid(), 9); os.kill(1, 9)")
    assert ended.cause == "exit"
    assert await said(sandbox, "print('still here')") == "still here"


async def test_probe_finds_a_back_end():
    assert (await probe()).backend in BACKENDS


def test_where_no_sandbox_works_nothing_runs_and_the_message_says_what_helps():
    code = (
        "import asyncio; from specdock.grades.sandbox import probe, SandboxError\n"
        "try: asyncio.run(probe())\n"
        "except SandboxError as problem: print(problem)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
    command = [*REFUSING, sys.executable, "-c", code]
    message = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    first, *tried = message.splitlines()
    assert first == "answers that are programs are graded in a sandbox only, and none works here"
    assert "bubblewrap does not start" in tried[0]
    assert "namespaces does not start" in tried[1]
    assert "apt-get install bubblewrap" in message
    assert "kernel.unprivileged_userns_clone=1" in message


async def test_a_missing_tool_is_named(monkeypatch):
    monkeypatch.setitem(BACKENDS, "bubblewrap", lambda scratch: ["no-such-tool"])
    with pytest.raises(SandboxError, match=r"bubblewrap does not start: .*no-such-tool"):
        await Sandbox("bubblewrap").run("pass")
