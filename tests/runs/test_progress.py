"""A terminal shows one living line; a log gets a few plain ones."""

import io
import re

import pytest
from rich.console import Console

from specdock.runs import progress
from specdock.runs.progress import Progress


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def run(tmp_path, clock, terminal: bool) -> tuple[str, str]:
    """What a session of two cells prints and keeps."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=120)
    with Progress("ngram", 2, 9, 2, tmp_path / "log", console) as told:
        for waited in range(0, 50, 5):
            told.waiting(float(waited))
            clock.now += 5
        for scenario in ("essays@4", "sums@1"):
            told.cell(scenario, 8)
            clock.now += 7
            for done in range(9):
                told.request(done, done * 50)
                clock.now += 10
    return shown.getvalue(), (tmp_path / "log").read_text(encoding="utf-8")


def test_a_log_file_gets_plain_lines_now_and_then(tmp_path, clock):
    shown, kept = run(tmp_path, clock, terminal=False)
    assert shown.splitlines() == [
        "ngram, seed 2: 9 cells, 2 to run",
        "ngram, seed 2: waiting for the engine, 30 s",
        "ngram, seed 2: cell 1 of 2: essays@4, 8 requests",
        "ngram, seed 2: essays@4: 3 of 8 requests, 5.0 tok/s, 0:00:50 left",
        "ngram, seed 2: essays@4: 6 of 8 requests, 5.0 tok/s, 0:00:20 left",
        "ngram, seed 2: essays@4: 8 requests in 80.0 s, 5.0 tok/s",
        "ngram, seed 2: cell 2 of 2: sums@1, 8 requests",
        "ngram, seed 2: sums@1: 3 of 8 requests, 5.0 tok/s, 0:00:50 left",
        "ngram, seed 2: sums@1: 6 of 8 requests, 5.0 tok/s, 0:00:20 left",
        "ngram, seed 2: sums@1: 8 requests in 80.0 s, 5.0 tok/s",
    ]
    assert [re.sub(r"^\S+Z ", "ngram, seed 2: ", line) for line in kept.splitlines()] == (
        shown.splitlines()
    )


def test_a_terminal_keeps_one_line_moving_and_the_log_stays_plain(tmp_path, clock):
    shown, kept = run(tmp_path, clock, terminal=True)
    assert "ngram, seed 2  waiting for the engine, 45 s" in shown
    assert "ngram, seed 2  cell 2 of 2  sums@1" in shown
    assert "warming up" in shown
    assert "7 of 8 requests, 5.0 tok/s, 0:00:10 left" in shown
    # What is told once stays above the line; what moves does not.
    assert "\nngram, seed 2: essays@4: 3 of 8" not in shown
    assert "\x1b" not in kept
    assert "essays@4: 3 of 8 requests" in kept


def test_names_are_not_taken_for_markup(tmp_path):
    shown = io.StringIO()
    console = Console(file=shown, width=80)
    with Progress("ngram", 1, 1, 1, tmp_path / "log", console) as told:
        told.say("lock [red]vllm[/red]")
    assert "lock [red]vllm[/red]" in shown.getvalue()
