"""Bandwidth by copying: of the processor for real, of a card with a stand-in for torch."""

import os
import re
import sys
from pathlib import Path

import pytest

from specdock.plan.models import ContainerEnvironment
from specdock.runs import bandwidth
from specdock.runs.bandwidth import card_bandwidth, copy_bandwidth
from specdock.runs.measure import _card_copy
from tests.engines.arms import arm

GIB = 2**30
# A card on which a copy of n bytes takes n / 2e12 s, or ten times as long at first.
TORCH = """
import types
__version__ = "9.9"
class Event:
    clock, slowdown = 0.0, 10
    def __init__(self, enable_timing): assert enable_timing
    def record(self): self.at = Event.clock
    def elapsed_time(self, end): return end.at - self.at
class Bytes:
    def __init__(self, size): self.size = size
    def copy_(self, other):
        Event.clock += other.size / 2e9 * Event.slowdown
        Event.slowdown = 1
def ones(size, dtype, device): return Bytes(size)
def zeros_like(other): return Bytes(other.size)
uint8 = None
cuda = types.SimpleNamespace(
    is_available=lambda: {card}, Event=Event, synchronize=lambda: None,
    mem_get_info=lambda: ({free}, 2 * {free}),
)
"""


def engine_with(tmp_path: Path, torch: str, **parts: object) -> dict[str, str]:
    """Variables under which this interpreter has that torch."""
    for name, value in parts.items():
        torch = torch.replace("{" + name + "}", repr(value))
    (tmp_path / "torch.py").write_text(torch)
    return {"PYTHONPATH": str(tmp_path)}


def copied(tmp_path: Path, variables: dict[str, str]) -> dict:
    return card_bandwidth(Path(sys.executable), variables, tmp_path)


def test_a_copy_moves_more_than_a_disk_and_less_than_a_cache():
    assert 0.3 < copy_bandwidth() < 100 * (os.cpu_count() or 1)


@pytest.mark.parametrize(("free", "size"), [(100 * GIB, "4"), (6 * GIB, "1.5")])
def test_the_best_copy_counts_read_and_written_of_each_byte(tmp_path, free, size):
    found = copied(tmp_path, engine_with(tmp_path, TORCH, card=True, free=free))
    assert found["copy_bandwidth"] == 4000.0
    assert found["copy_method"].startswith(f"best of 10 copies of {size} GiB on the card by torch")


@pytest.mark.parametrize(
    ("torch", "words"),
    [
        (TORCH, "torch 9.9 sees no card"),
        ("raise ImportError('libcudart.so.13 is missing')", "no torch .libcudart.so.13 is missing"),
        ("raise RuntimeError('CUDA out of memory')", "exit code 1.*CUDA out of memory"),
        ("import os; os._exit(3)", "exit code 3, last words: nothing"),
    ],
)
def test_what_cannot_be_copied_is_null_with_the_reason(tmp_path, torch, words):
    found = copied(tmp_path, engine_with(tmp_path, torch, card=False, free=0))
    assert found["copy_bandwidth"] is None
    assert re.search(f"^not measured: .*{words}", found["copy_method"])


@pytest.mark.parametrize(
    ("engine", "program", "card", "words"),
    [
        ("vllm-0.32.0-cpu", "python", {"name": "a card"}, "the engine computes on the processor"),
        ("vllm-0.33.0", "python", {"absent": "no driver"}, "no driver"),
        ("vllm-0.33.0", "llama-server", {"name": "a card"}, "llama-server is a binary"),
    ],
)
def test_no_copy_is_tried_where_the_engine_has_no_card_or_no_torch(
    tmp_path, engine, program, card, words
):
    found = _card_copy(arm(engine), Path(program), {}, card, tmp_path)
    assert found["copy_bandwidth"] is None and words in found["copy_method"]


def test_an_image_is_not_asked_for_a_copy(tmp_path):
    served = arm("vllm-0.33.0")
    image = ContainerEnvironment(kind="container", image=f"image@sha256:{'0' * 64}")
    engine = served.engine.model_copy(update={"environment": image})
    served = served.model_copy(update={"engine": engine})
    found = _card_copy(served, Path("python3"), {}, {"name": "a card"}, tmp_path)
    assert "inside an image" in found["copy_method"]


def test_a_card_that_hangs_does_not_keep_the_engine_from_starting(tmp_path, monkeypatch):
    monkeypatch.setattr(bandwidth, "_PATIENCE", 0.5)
    found = copied(tmp_path, engine_with(tmp_path, "import time; time.sleep(60)"))
    assert found["copy_method"] == "not measured: no copy was done after 0.5 s"
