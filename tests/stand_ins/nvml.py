"""NVML as pynvml shows it, for one card whose power is a function of time."""

import time
from collections.abc import Callable
from types import SimpleNamespace

import pynvml

MIB = 2**20


class Nvml:
    """Stands in for the module pynvml: the same names, constants and errors.

    `watts` maps seconds since the start to board power; the energy counter is its integral, kept by
    a step of a millisecond at every reading. Functions named in `unsupported` raise as NVML does.
    """

    def __init__(
        self,
        watts: Callable[[float], float] = lambda seconds: 300.0,
        unsupported: tuple[str, ...] = (),
        instant: bool = True,
        init_error: type[Exception] | None = None,
        devices: int = 1,
    ):
        self._watts = watts
        self._unsupported = unsupported
        self._instant = instant
        self._init_error = init_error
        self._devices = devices
        self._start = self._counted = time.monotonic()
        self._joules = 0.0
        self.processes = [SimpleNamespace(pid=7, usedGpuMemory=100 * MIB)]
        self.open = 0

    def __dir__(self) -> list[str]:
        return dir(pynvml)

    def __getattr__(self, name: str) -> object:
        """Constants and error classes are pynvml's own; its functions are not to be reached."""
        if name.startswith("nvmlDevice") or name in ("nvmlInit", "nvmlShutdown"):
            raise AttributeError(f"the stand-in has no {name}")
        return getattr(pynvml, name)

    def __getattribute__(self, name: str) -> object:
        if name.startswith("nvml") and name in object.__getattribute__(self, "_unsupported"):
            return self._refuse
        return object.__getattribute__(self, name)

    @staticmethod
    def _refuse(*_: object) -> None:
        raise pynvml.NVMLError_NotSupported

    def nvmlInit(self) -> None:
        if self._init_error is not None:
            raise self._init_error
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        if index >= self._devices:
            raise pynvml.NVMLError_InvalidArgument
        return f"handle {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != "GPU-0":
            raise pynvml.NVMLError_NotFound
        return "handle 0"

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.1"

    def nvmlDeviceGetName(self, _handle: str) -> str:
        return "NVIDIA Stand-in"

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return handle.replace("handle ", "GPU-")

    def nvmlDeviceGetFieldValues(self, _handle: str, fields: list[int]) -> list[SimpleNamespace]:
        assert fields == [pynvml.NVML_FI_DEV_POWER_INSTANT]
        milliwatts = round(self._watts(time.monotonic() - self._start) * 1000)
        code = pynvml.NVML_SUCCESS if self._instant else pynvml.NVML_ERROR_NOT_SUPPORTED
        return [SimpleNamespace(nvmlReturn=code, value=SimpleNamespace(uiVal=milliwatts))]

    def nvmlDeviceGetPowerUsage(self, _handle: str) -> int:
        return 111_000

    def nvmlDeviceGetTotalEnergyConsumption(self, _handle: str) -> int:
        now = time.monotonic()
        while self._counted < now:
            step = min(0.001, now - self._counted)
            self._joules += self._watts(self._counted - self._start) * step
            self._counted += step
        return round(self._joules * 1000)

    def nvmlDeviceGetEnforcedPowerLimit(self, _handle: str) -> int:
        return 700_000

    def nvmlDeviceGetMemoryInfo(self, _handle: str) -> SimpleNamespace:
        return SimpleNamespace(used=615 * MIB, total=143771 * MIB)

    def nvmlDeviceGetClockInfo(self, _handle: str, kind: int) -> int:
        return {pynvml.NVML_CLOCK_SM: 345, pynvml.NVML_CLOCK_MEM: 3201}[kind]

    def nvmlDeviceGetMaxClockInfo(self, _handle: str, kind: int) -> int:
        return {pynvml.NVML_CLOCK_SM: 1980}[kind]

    def nvmlDeviceGetTemperature(self, _handle: str, _sensor: int) -> int:
        return 31

    def nvmlDeviceGetUtilizationRates(self, _handle: str) -> SimpleNamespace:
        return SimpleNamespace(gpu=97, memory=40)

    def nvmlDeviceGetCurrentClocksEventReasons(self, _handle: str) -> int:
        return pynvml.nvmlClocksEventReasonSwPowerCap | pynvml.nvmlClocksEventReasonGpuIdle

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: str) -> list[SimpleNamespace]:
        return self.processes
