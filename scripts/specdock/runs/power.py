"""Power and energy of the card: sampled while a session runs, and added up for a window."""

import threading
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pynvml
from numpy.typing import NDArray

from specdock.columns import column
from specdock.runs.card import Card, CardAbsent

PERIOD_SECONDS = 0.2
MAX_GAP_SECONDS = 1.0

POWER_SCHEMA = pa.schema(
    [
        column("session", pa.string(), "engine start that was served meanwhile"),
        column("time", pa.timestamp("us", tz="UTC"), "moment of the sample"),
        column("power", pa.float64(), "board power", "W"),
        column("energy", pa.int64(), "the board's energy counter since the driver came up", "mJ"),
        column("memory", pa.float64(), "memory in use on the card", "MiB"),
        column("sm_clock", pa.int32(), "clock of the multiprocessors", "MHz"),
        column("temperature", pa.int32(), "of the chip", "°C"),
        column("utilisation", pa.int32(), "share of time in which a kernel ran", "%"),
        column("throttle", pa.list_(pa.string()), "why the clock was not higher, in NVML's terms"),
    ]
)


def gpu_state(nvml: Any = pynvml) -> dict[str, Any]:
    """State of the card before the engine starts, or `absent` with the reason."""
    try:
        card = Card(nvml)
    except CardAbsent as reason:
        return {"absent": str(reason)}
    try:
        return card.state()
    finally:
        card.close()


class PowerSampler:
    """Samples the card in a thread, as a context manager; without a card it has no samples.

    `state` is the period in seconds and the power sensor read, or `absent` with the reason.
    """

    def __init__(self, session: str, period: float, nvml: Any):
        self._session = session
        self._period = period
        self._nvml = nvml
        self._samples: list[dict[str, Any]] = []
        self._end = threading.Event()

    def __enter__(self) -> "PowerSampler":
        try:
            self._card = Card(self._nvml)
        except CardAbsent as reason:
            self._thread = None
            self.state = {"absent": str(reason)}
            return self
        self.state = {"period": self._period, "sensor": self._card.sensor}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._end.set()
            self._thread.join()
            self._card.close()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._end.wait(due - time.monotonic()):
            self._samples.append({"session": self._session, **self._card.sample()})
            due = max(due + self._period, time.monotonic())

    def table(self) -> pa.Table:
        """The samples so far, as `POWER_SCHEMA`."""
        return pa.Table.from_pylist(self._samples.copy(), POWER_SCHEMA)


def sampler(session: str) -> PowerSampler:
    """A sampler at the usual rate for one engine start."""
    return PowerSampler(session, PERIOD_SECONDS, pynvml)


# Energy of a window


@dataclass(frozen=True)
class WindowEnergy:
    """Energy of a window, measured twice: J by the counter and by integrated samples.

    `coverage` is the share of the window that samples cover, `mean_power` in W over that share,
    `peak_memory` in MiB, `busy` the mean share of time in which a kernel ran. None is what the card
    or its samples cannot tell.
    """

    counter: float | None
    trapezoid: float | None
    coverage: float
    mean_power: float | None
    peak_memory: float | None
    busy: float | None


def window_energy(samples: pa.Table, start: datetime, wall: float) -> WindowEnergy | None:
    """What `wall` seconds from `start` cost, by samples of `POWER_SCHEMA`; None without samples."""
    if samples.num_rows == 0:
        return None
    seconds = samples["time"].cast(pa.int64()).to_numpy() / 1e6
    begin, end = start.timestamp(), start.timestamp() + wall
    inside = (seconds >= begin) & (seconds <= end)
    memory, busy = (_floats(samples[name])[inside] for name in ("memory", "utilisation"))
    joules, coverage = energy_by_trapezoid(
        seconds, _floats(samples["power"]), begin, end, MAX_GAP_SECONDS
    )
    return WindowEnergy(
        counter=energy_from_counter(seconds, _floats(samples["energy"]), begin, end),
        trapezoid=joules if coverage else None,
        coverage=coverage,
        mean_power=joules / (coverage * wall) if coverage else None,
        peak_memory=float(np.nanmax(memory)) if np.isfinite(memory).any() else None,
        busy=float(np.nanmean(busy)) / 100 if np.isfinite(busy).any() else None,
    )


def energy_from_counter(
    seconds: NDArray[np.float64], millijoules: NDArray[np.float64], start: float, end: float
) -> float | None:
    """Joules between `start` and `end` by the board's counter, read between samples as linear.

    Both arrays have shape (n,), times ascending; unread values are NaN. None if the samples do not
    reach over the window, or if the counter ran backwards, as it does when a driver is reloaded.
    """
    read = np.isfinite(millijoules)
    seconds, millijoules = seconds[read], millijoules[read]
    if len(seconds) < 2 or start < seconds[0] or end > seconds[-1]:
        return None
    if (np.diff(millijoules) < 0).any():
        return None
    first, last = np.interp([start, end], seconds, millijoules)
    return float(last - first) / 1000


def energy_by_trapezoid(
    seconds: NDArray[np.float64],
    watts: NDArray[np.float64],
    start: float,
    end: float,
    max_gap: float,
) -> tuple[float, float]:
    """Joules between `start` and `end` by the trapezoid rule, and the share of the time covered.

    Both arrays have shape (n,), times ascending; unread values are NaN. The power at the window's
    edges is read between samples as linear. Samples further apart than `max_gap` seconds cover
    nothing between them: energy there is neither guessed nor counted.
    """
    read = np.isfinite(watts)
    seconds, watts = seconds[read], watts[read]
    if len(seconds) < 2:
        return 0.0, 0.0
    left, right = np.clip(seconds[:-1], start, end), np.clip(seconds[1:], start, end)
    span = np.where(np.diff(seconds) <= max_gap, right - left, 0.0)
    mean = (np.interp(left, seconds, watts) + np.interp(right, seconds, watts)) / 2
    return float(mean @ span), float(span.sum() / (end - start))


def _floats(values: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers with NaN for null."""
    return values.cast(pa.float64()).to_numpy(zero_copy_only=False)
