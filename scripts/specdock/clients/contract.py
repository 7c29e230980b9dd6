"""The contract of a client that is not ours: a command, an export, figures under our names.

It is given the complete bodies that our client would send, so that the two differ by client only.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specdock.errors import SpecdockError
from specdock.plan.models import Flags
from specdock.runs.requests import RequestRow
from specdock.workloads.prompts import Prompt

# What a client printed, kept beside its export.
LOG = "client.log"


class ClientFailed(SpecdockError):
    """A client that did not do, or did not tell, what it was asked for."""


@dataclass(frozen=True)
class Load:
    """What a client is to send: one body a prompt, in order, never more than `streams` at once.

    `engine` is the adapter of the server at `base_url`; `timeout` is a request's, in seconds.
    """

    base_url: str
    engine: str
    prompts: list[Prompt]
    bodies: list[bytes]
    streams: int
    timeout: int
    tokenizer: Path
    flags: Flags


@dataclass(frozen=True)
class Figures:
    """A client's own account of a run: tok/s, and medians in ms, by its own definitions."""

    requests: int
    completion_tokens: int
    output_rate: float
    ttft_median: float
    tpot_median: float


def figures_of_serving(told: dict) -> Figures:
    """From a result of vLLM's serving benchmark, whose names SGLang's has kept."""
    return Figures(
        requests=told["completed"],
        completion_tokens=told["total_output_tokens"],
        output_rate=told["output_throughput"],
        ttft_median=told["median_ttft_ms"],
        tpot_median=told["median_tpot_ms"],
    )


@dataclass(frozen=True)
class Generated:
    """Requests as an export tells of them; times in seconds from when the first was sent.

    `window_start` is that moment in Unix time.
    """

    rows: list[RequestRow]
    window_start: float


class Client(Protocol):
    """What a new client must supply; `exports` are the files that it leaves and we keep."""

    exports: tuple[str, ...]

    def command(self, python: Path, load: Load, folder: Path) -> list[str]:
        """Writes its input into `folder`; the command line that leaves its exports there."""

    def figures(self, folder: Path) -> Figures:
        """Its own figures, from the exports kept in `folder`; raises `ClientFailed`."""


class Generator(Client, Protocol):
    """A client that can stand in for ours."""

    def rows(self, folder: Path, load: Load) -> Generated:
        """Its requests; what the export does not tell is null. Raises `ClientFailed`."""


def write_lines(path: Path, lines: list[bytes]) -> None:
    """JSON values, one a line."""
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def read_lines(path: Path) -> Iterator[dict]:
    """The JSON values of an export as it is kept, packed; SGLang's has infinite numbers in it."""
    with gzip.open(path.with_name(f"{path.name}.gz")) as file:
        yield from (json.loads(line) for line in file if line.strip())
