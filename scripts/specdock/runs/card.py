"""The card that an engine runs on, as NVML tells of it."""

import os
import time
from collections.abc import Callable
from typing import Any

MIB = 2**20
_REASON = "nvmlClocksEventReason"


class CardAbsent(Exception):
    """There is no card to watch; the text says why."""


class Card:
    """The card that the engine will use; what it does not support reads as None."""

    def __init__(self, nvml: Any):
        """Opens the first device of CUDA_VISIBLE_DEVICES, or the first of all.

        `nvml` is the module pynvml. Raises `CardAbsent`.
        """
        self._nvml = nvml
        try:
            nvml.nvmlInit()
        except nvml.NVMLError_LibraryNotFound:
            raise CardAbsent("no NVIDIA driver is installed (its library is missing)") from None
        except nvml.NVMLError as error:
            raise CardAbsent(f"the NVIDIA driver does not answer: {error}") from None
        try:
            self._handle = self._visible()
        except (nvml.NVMLError, ValueError, CardAbsent) as error:
            self.close()
            raise CardAbsent(f"the NVIDIA driver shows no device to use: {error}") from None
        self._reasons = {
            getattr(nvml, name): name.removeprefix(_REASON)
            for name in dir(nvml)
            if name.startswith(_REASON) and name not in (f"{_REASON}None", f"{_REASON}All")
        }
        self.sensor = "average" if self._instant_power() is None else "instant"

    def _visible(self) -> Any:
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
        if first.startswith("GPU-"):
            return self._nvml.nvmlDeviceGetHandleByUUID(first)
        if not first:
            raise CardAbsent("CUDA_VISIBLE_DEVICES is empty")
        return self._nvml.nvmlDeviceGetHandleByIndex(int(first))

    def close(self) -> None:
        """Lets go of NVML."""
        self._nvml.nvmlShutdown()

    def _read(self, function: Callable, *arguments: Any) -> Any:
        try:
            return function(self._handle, *arguments)
        except self._nvml.NVMLError:
            return None

    def _instant_power(self) -> float | None:
        """Board power now, in W; older cards and drivers only give an average over a second."""
        field = self._nvml.NVML_FI_DEV_POWER_INSTANT
        values = self._read(self._nvml.nvmlDeviceGetFieldValues, [field])
        if not values or values[0].nvmlReturn != self._nvml.NVML_SUCCESS:
            return None
        return values[0].value.uiVal / 1000

    def _average_power(self) -> float | None:
        return _scaled(self._read(self._nvml.nvmlDeviceGetPowerUsage), 1000)

    def sample(self) -> dict[str, Any]:
        """One row of `POWER_SCHEMA`, session aside."""
        nvml = self._nvml
        power = self._instant_power if self.sensor == "instant" else self._average_power
        utilisation = self._read(nvml.nvmlDeviceGetUtilizationRates)
        reasons = self._read(nvml.nvmlDeviceGetCurrentClocksEventReasons)
        return {
            "time": round(time.time() * 1e6),
            "power": power(),
            "energy": self._read(nvml.nvmlDeviceGetTotalEnergyConsumption),
            "memory": self._memory("used"),
            "sm_clock": self._read(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            "temperature": self._read(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            "utilisation": utilisation.gpu if utilisation else None,
            "throttle": None
            if reasons is None
            else [name for bit, name in self._reasons.items() if reasons & bit],
        }

    def _memory(self, which: str) -> float | None:
        memory = self._read(self._nvml.nvmlDeviceGetMemoryInfo)
        return getattr(memory, which) / MIB if memory else None

    def state(self) -> dict[str, Any]:
        """Name, driver, limits and load: W, MHz, MiB, degrees Celsius; processes are counted."""
        nvml = self._nvml
        processes = self._read(nvml.nvmlDeviceGetComputeRunningProcesses)
        return {
            "name": self._read(nvml.nvmlDeviceGetName),
            "uuid": self._read(nvml.nvmlDeviceGetUUID),
            "driver": nvml.nvmlSystemGetDriverVersion(),
            "power_limit": _scaled(self._read(nvml.nvmlDeviceGetEnforcedPowerLimit), 1000),
            "sm_clock": self._read(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            "sm_clock_max": self._read(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
            "memory_clock": self._read(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            "temperature": self._read(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            "memory_used": self._memory("used"),
            "memory_total": self._memory("total"),
            "other_processes": None if processes is None else len(processes),
        }


def _scaled(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor
