"""What a sandboxed program sees of the machine, as the command line of either back end.

The same for both: /usr and the interpreter read-only, an empty scratch folder in memory as working
directory, and nothing else: no /proc, /dev, /etc, /home, network device or process of the machine.
"""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from specdock.errors import SpecdockError

SYSTEM = ("/bin", "/lib", "/lib64", "/usr")
SCRATCH = "/scratch"
NOBODY = 65534

_PREFIX = Path(sys.base_prefix)
PYTHON = str(_PREFIX / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")

# Root's interpreter may lie in a folder that nobody may enter: it is bound to where nobody can.
_REACHABLE = Path("/mnt")
_REACH = 'mount --bind "$1" "$2"; shift 2; exec "$@"'

# A program is not let make user namespaces, in which it would be privileged again. The view grows
# over /sys, which hides nothing that it needs. umount needs /proc until the old root is gone. The
# shell stays as process 1, to say how the program ended.
_NAMESPACES = """
bind() {
    mkdir -p ".$2"
    mount --rbind "$1" ".$2"
    points=$(findmnt -Rnro TARGET "$PWD$2")
    for point in $points; do mount -o remount,bind,ro,nosuid,nodev "$point"; done
}
link() { ln -s "$1" ".$2"; }

echo 0 > /proc/sys/user/max_user_namespaces
mount -t tmpfs -o size=1m,mode=755,nosuid,nodev view /sys
cd /sys
scratch=$1 bytes=$2
shift 2
while [ "$1" != -- ]; do "$1" "$2" "$3"; shift 3; done
shift
mkdir old ".$scratch"
ln -s old/proc proc
mount -o remount,bind,ro,nosuid,nodev .
mount -t tmpfs -o "size=$bytes,nosuid,nodev" scratch ".$scratch"
pivot_root . old
cd "$scratch"
umount -l /old
setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@" || exit $?
"""


def as_nobody() -> list[str]:
    """Steps down from root to an ordinary user; whoever it is, ends with this process."""
    die = ["setpriv", "--pdeathsig", "KILL"]
    if os.geteuid() != 0:
        return [*die, "--"]
    reach = ["unshare", "--mount", "--", "sh", "-euc", _REACH, "sh", str(_PREFIX), str(_REACHABLE)]
    drop = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--"]
    return [*reach, *die, *drop]


def bubblewrap(scratch: int) -> list[str]:
    """The view by bubblewrap, with `scratch` bytes to write in."""
    flags = {"bind": "--ro-bind", "link": "--symlink"}
    view = [word for how, what, where in _parts() for word in (flags[how], what, where)]
    apart = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    room = ["--size", str(scratch), "--tmpfs", SCRATCH, "--chdir", SCRATCH, "--remount-ro", "/"]
    return ["bwrap", *apart, *view, *room, "--"]


def confined(readable: Iterable[Path], writable: Path, network: bool) -> list[str]:
    """bubblewrap's view for a program of other people that evaluates what a model wrote.

    It sees the system, `readable`, /proc and /dev of its own, and may write into `writable` alone;
    with `network` it reaches what this machine reaches. Raises `SpecdockError` without bubblewrap.
    """
    if shutil.which("bwrap") is None:
        raise SpecdockError(
            "BFCL evaluates calls that a model wrote, and there is no sandbox for it here\n"
            "  install bubblewrap (apt-get install bubblewrap)"
        )
    flags = {"bind": "--ro-bind", "link": "--symlink"}
    view = [word for how, what, where in _system() for word in (flags[how], what, where)]
    apart = ["--unshare-all", *(["--share-net"] if network else []), "--die-with-parent"]
    own = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in readable:
        view += ["--ro-bind", str(path.resolve()), str(path.absolute())]
    place = str(writable.resolve())
    return ["bwrap", *apart, *own, *view, "--bind", place, place, "--chdir", place, "--"]


def interpreter_parts(python: Path) -> list[Path]:
    """The folders without which the interpreter of a virtual environment does not start."""
    return [python.absolute().parents[1], python.resolve().parents[1]]


def namespaces(scratch: int) -> list[str]:
    """The view by util-linux, with `scratch` bytes to write in."""
    view = [word for part in _parts() for word in part]
    apart = ["--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup"]
    script = ["sh", "-euc", _NAMESPACES, "sh", SCRATCH, str(scratch)]
    return ["unshare", *apart, "--fork", "--kill-child", "--", *script, *view, "--"]


def _parts() -> list[tuple[str, str, str]]:
    """(bind, source, target) and (link, target, path) of the read-only part of the view."""
    source = _REACHABLE if os.geteuid() == 0 else _PREFIX
    interpreter = [("bind", str(source / name), str(_PREFIX / name)) for name in ("bin", "lib")]
    return [*_system(), *interpreter]


def _system() -> list[tuple[str, str, str]]:
    return [
        ("link", str(path.readlink()), str(path))
        if path.is_symlink()
        else ("bind", str(path), str(path))
        for path in map(Path, SYSTEM)
        if path.exists()
    ]
