"""Memory bandwidth by copying: what decoding could read at best, on the processor or the card."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from specdock.runs.server import die_with_parent

_BYTES = 128 * 2**20
_REPEATS = 3
_PROBE = Path(__file__).parent / "probes/copy_on_card.py"
_PATIENCE = 180  # seconds: reading torch from a cold disk takes most of it, the copies none


def copy_bandwidth() -> float:
    """GB/s that all cores together read and write in a copy far larger than their caches.

    The best of a few repeats, as in STREAM (McCalpin 1995): a copy is counted as one read and one
    write of each byte. Takes well under a second; call it while nothing else runs.
    """
    threads = len(os.sched_getaffinity(0))
    source = np.ones(_BYTES, dtype=np.uint8)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_REPEATS):
            start = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(*pair), parts))
            seconds.append(time.perf_counter() - start)
    return round(2 * _BYTES / min(seconds) / 1e9, 2)


def card_bandwidth(python: Path, variables: dict[str, str], root: Path) -> dict[str, object]:
    """`copy_bandwidth` of the card in GB/s, read plus written, and `copy_method` that got it.

    Copied by the torch of the engine's own environment in a process of its own, which gives the
    card back before the engine starts. Null with the reason as method if nothing could be copied.
    """
    try:
        done = subprocess.run(
            [python, _PROBE],
            cwd=root,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            preexec_fn=die_with_parent,
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except OSError as error:
        return not_copied(f"{python.name} does not start: {error.strerror}")
    except subprocess.TimeoutExpired:
        return not_copied(f"no copy was done after {_PATIENCE} s")
    except (IndexError, json.JSONDecodeError):
        said = done.stderr.replace(str(root), ".").strip().splitlines() or ["nothing"]
        return not_copied(f"exit code {done.returncode}, last words: {said[-1][:200]}")
    if "absent" in found:
        return not_copied(found["absent"])
    return {
        "copy_bandwidth": round(2 * found["bytes"] / found["best"] / 1e9, 1),
        "copy_method": f"best of {found['copies']} copies of {found['bytes'] / 2**30:.3g} GiB"
        f" on the card by torch {found['torch']}, read and written",
    }


def not_copied(reason: str) -> dict[str, object]:
    """Why there is no bandwidth of the card."""
    return {"copy_bandwidth": None, "copy_method": f"not measured: {reason}"}
