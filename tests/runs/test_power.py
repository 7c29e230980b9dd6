"""The card's samples are what NVML said, and energy adds up both ways."""

import csv
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdock.runs.power import (
    POWER_SCHEMA,
    PowerSampler,
    energy_by_trapezoid,
    energy_from_counter,
    gpu_state,
    window_energy,
)
from tests.stand_ins.nvml import Nvml

FIXTURE = Path(__file__).parents[1] / "fixtures" / "h200-power-sample.csv"


@pytest.fixture(autouse=True)
def all_devices_visible(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


# State


def test_the_state_of_the_card_is_told_in_plain_units():
    nvml = Nvml()
    assert gpu_state(nvml) == {
        "name": "NVIDIA Stand-in",
        "uuid": "GPU-0",
        "driver": "580.1",
        "power_limit": 700.0,
        "sm_clock": 345,
        "sm_clock_max": 1980,
        "memory_clock": 3201,
        "temperature": 31,
        "memory_used": 615.0,
        "memory_total": 143771.0,
        "other_processes": 1,
    }
    assert nvml.open == 0


def test_what_a_card_does_not_support_is_none():
    state = gpu_state(Nvml(unsupported=("nvmlDeviceGetEnforcedPowerLimit",)))
    assert state["power_limit"] is None
    assert state["name"] == "NVIDIA Stand-in"


@pytest.mark.parametrize(
    ("nvml", "visible", "reason"),
    [
        (Nvml(init_error=pynvml.NVMLError_LibraryNotFound), "0", "no NVIDIA driver is installed"),
        (Nvml(init_error=pynvml.NVMLError_DriverNotLoaded), "0", "driver does not answer: "),
        (Nvml(devices=0), "0", "shows no device to use: "),
        (Nvml(), "", "CUDA_VISIBLE_DEVICES is empty"),
        (Nvml(), "none", "shows no device to use: "),
    ],
)
def test_an_absent_card_is_absent_for_a_reason(nvml, visible, reason, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert reason in gpu_state(nvml)["absent"]
    with PowerSampler("s", 0.01, nvml) as sampler:
        assert reason in sampler.state["absent"]
    assert sampler.table().num_rows == 0
    assert sampler.table().schema == POWER_SCHEMA
    assert nvml.open == 0


@pytest.mark.parametrize(
    ("visible", "uuid"), [("1,0", "GPU-1"), ("GPU-0", "GPU-0"), (None, "GPU-0")]
)
def test_the_card_is_the_one_that_the_engine_will_see(visible, uuid, monkeypatch):
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu_state(Nvml(devices=2))["uuid"] == uuid


# Samples


def sampled(nvml: Nvml, seconds: float = 0.2) -> PowerSampler:
    with PowerSampler("a session", 0.02, nvml) as sampler:
        time.sleep(seconds)
    return sampler


def test_samples_come_at_their_period_until_the_session_ends():
    nvml = Nvml()
    before = datetime.now(UTC)
    sampler = sampled(nvml, 0.4)
    after = datetime.now(UTC)
    table = sampler.table()
    assert table.schema == POWER_SCHEMA
    assert 5 <= table.num_rows <= 21
    times = table["time"].to_pylist()
    assert before <= times[0] < times[-1] <= after
    assert table.num_rows == sampler.table().num_rows
    assert nvml.open == 0
    last = table.to_pylist()[-1]
    del last["time"], last["energy"]
    assert last == {
        "session": "a session",
        "power": 300.0,
        "memory": 615.0,
        "sm_clock": 345,
        "temperature": 31,
        "utilisation": 97,
        "throttle": ["GpuIdle", "SwPowerCap"],
    }


def test_the_instant_sensor_is_read_where_there_is_one():
    instant, average = sampled(Nvml()), sampled(Nvml(instant=False))
    assert (instant.state["sensor"], average.state["sensor"]) == ("instant", "average")
    assert set(average.table()["power"].to_pylist()) == {111.0}


def test_a_card_without_a_counter_is_sampled_all_the_same():
    table = sampled(Nvml(unsupported=("nvmlDeviceGetTotalEnergyConsumption",))).table()
    assert table["energy"].null_count == table.num_rows > 0
    assert table["power"].null_count == 0


def test_the_table_can_be_read_while_sampling_goes_on():
    with PowerSampler("s", 0.01, Nvml()) as sampler:
        time.sleep(0.1)
        first = sampler.table().num_rows
        time.sleep(0.1)
    assert 0 < first < sampler.table().num_rows


# Energy


def ramp(start: float, end: float, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, a power of 100 W rising by 10 W each second, and its exact counter in mJ."""
    seconds = np.arange(start, end + step / 2, step)
    joules = 100 * seconds + 5 * seconds**2
    return seconds, 100 + 10 * seconds, joules * 1000


@given(start=st.floats(0, 9), length=st.floats(0.01, 10))
def test_the_trapezoid_is_exact_for_a_ramp_wherever_the_window_cuts(start, length):
    end = min(start + length, 10.0)
    seconds, watts, _ = ramp(0, 10, 0.25)
    joules, coverage = energy_by_trapezoid(seconds, watts, start, end, 1.0)
    assert joules == pytest.approx(100 * (end - start) + 5 * (end**2 - start**2), rel=1e-6)
    assert coverage == pytest.approx(1.0)


def test_the_counter_is_exact_at_samples_and_close_between_them():
    seconds, _, counter = ramp(0, 10, 0.25)
    assert energy_from_counter(seconds, counter, 2.0, 6.0) == pytest.approx(560.0)
    assert energy_from_counter(seconds, counter, 2.1, 6.1) == pytest.approx(564.0, rel=1e-3)


def test_a_gap_is_neither_guessed_nor_counted():
    seconds, watts, _ = ramp(0, 10, 0.25)
    kept = (seconds <= 4) | (seconds >= 6)
    joules, coverage = energy_by_trapezoid(seconds[kept], watts[kept], 0, 10, 1.0)
    assert coverage == pytest.approx(0.8)
    assert joules == pytest.approx(1500 - 300)


def test_a_window_beyond_the_samples_is_covered_in_part():
    seconds, watts, counter = ramp(0, 10, 0.25)
    assert energy_by_trapezoid(seconds, watts, 8, 12, 1.0)[1] == pytest.approx(0.5)
    assert energy_by_trapezoid(seconds, watts, 11, 12, 1.0) == (0.0, 0.0)
    assert energy_from_counter(seconds, counter, 8, 12) is None


def test_a_counter_that_ran_backwards_tells_nothing():
    seconds, _, counter = ramp(0, 10, 0.25)
    counter[20:] -= counter[20]
    assert energy_from_counter(seconds, counter, 1, 9) is None


def test_unread_samples_are_left_out():
    seconds, watts, counter = ramp(0, 10, 0.25)
    watts[10], counter[10] = np.nan, np.nan
    assert energy_by_trapezoid(seconds, watts, 0, 10, 1.0)[0] == pytest.approx(1500)
    assert energy_from_counter(seconds, counter, 0, 10) == pytest.approx(1500)


def real_samples() -> pa.Table:
    """The fixture: an idle H200 at about 78 W."""
    with FIXTURE.open(encoding="utf-8") as file:
        rows = [[float(value) for value in row] for row in csv.reader(file)]
    times, watts, counter, memory, utilisation, clock = (
        list(column) for column in zip(*rows, strict=True)
    )
    columns = {
        "session": ["s"] * len(rows),
        "time": [round(moment * 1e6) for moment in times],
        "power": watts,
        "energy": [int(value) for value in counter],
        "memory": memory,
        "sm_clock": [int(value) for value in clock],
        "temperature": [None] * len(rows),
        "utilisation": [int(value) for value in utilisation],
        "throttle": [None] * len(rows),
    }
    return pa.table(columns, schema=POWER_SCHEMA)


def test_counter_and_samples_of_a_real_card_agree():
    start = datetime.fromtimestamp(1795961090, UTC)
    energy = window_energy(real_samples(), start, 20.0)
    assert energy.coverage == pytest.approx(1.0)
    assert energy.mean_power == pytest.approx(78.2, abs=0.1)
    assert energy.trapezoid == pytest.approx(20 * energy.mean_power)
    assert energy.counter == pytest.approx(energy.trapezoid, rel=0.01)
    assert energy.peak_memory == 615
    assert energy.busy == 0.0


def test_the_card_is_busy_for_the_mean_of_what_its_samples_say():
    samples = real_samples()
    told = pa.array([None, 50, 100] + [100] * (samples.num_rows - 3), pa.int32())
    place = samples.schema.get_field_index("utilisation")
    samples = samples.set_column(place, samples.schema.field(place), told)
    first = samples["time"][0].as_py()
    three = (samples["time"][2].as_py() - first).total_seconds()
    assert window_energy(samples, first, three).busy == pytest.approx(0.75)


def test_a_window_without_samples_has_no_energy():
    late = window_energy(real_samples(), datetime.fromtimestamp(1795969999, UTC), 20.0)
    assert (late.counter, late.trapezoid, late.coverage, late.mean_power) == (None, None, 0, None)
    assert (late.peak_memory, late.busy) == (None, None)
    assert window_energy(POWER_SCHEMA.empty_table(), datetime.now(UTC), 20.0) is None


def test_both_energies_of_a_sampled_ramp_agree():
    nvml = Nvml(watts=lambda seconds: 100 + 200 * seconds)
    with PowerSampler("s", 0.02, nvml) as sampler:
        time.sleep(0.1)
        start = datetime.now(UTC)
        time.sleep(0.4)
        wall = (datetime.now(UTC) - start).total_seconds()
        time.sleep(0.1)
    energy = window_energy(sampler.table(), start, wall)
    assert energy.coverage == pytest.approx(1.0)
    assert energy.counter == pytest.approx(energy.trapezoid, rel=0.05)
    assert energy.mean_power == pytest.approx(100 + 200 * (0.1 + wall / 2), rel=0.15)
