"""What of this machine may decide a speed; its name is left out, since results are published."""

import os
import platform
from pathlib import Path
from typing import Any

import psutil

_CPU_INFO = Path("/proc/cpuinfo")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_MATRIX_FLAGS = {
    "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
    "amx_tile", "amx_int8", "amx_bf16", "amx_fp16",
    "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2", "sme",
}  # fmt: skip


def host_facts() -> dict[str, Any]:
    """Processor, memory, kernel, Python and load; memory in GiB, shares between 0 and 1.

    `busy` is the share of all cores that other work takes, over half a second in which this
    process sleeps. Call it before the engine starts.
    """
    cpu = _cpu_info(_CPU_INFO)
    return {
        "processor": cpu.get("model name") or platform.processor() or platform.machine(),
        "flags": sorted(_MATRIX_FLAGS & set((cpu.get("flags") or cpu.get("Features", "")).split())),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "usable_threads": len(os.sched_getaffinity(0)),
        "memory": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "governor": _GOVERNOR.read_text().strip() if _GOVERNOR.exists() else None,
        "load": [round(value, 2) for value in os.getloadavg()],
        "busy": psutil.cpu_percent(interval=0.5) / 100,
    }


def _cpu_info(path: Path) -> dict[str, str]:
    """Fields of the first processor that the file lists."""
    first = path.read_text(encoding="utf-8").split("\n\n")[0] if path.exists() else ""
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
