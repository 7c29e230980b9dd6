"""Memory bandwidth of the processor, by copying: what decoding on it could read at best."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_BYTES = 128 * 2**20
_REPEATS = 3


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
