"""The whole contract of an engine: its command, its endpoints and its request fields.

An adapter knows neither the client nor the tables nor the article. What data can say (flags, metric
names, log patterns per version) is in config/engines.yaml.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specdock.plan.spec import ArmSpec, ScenarioSpec

SERVED_NAME = "target"


@dataclass(frozen=True)
class Placed:
    """Where an arm's parts lie on this machine."""

    python: Path
    target: Path
    drafter: Path | None
    cache: Path


class Adapter(Protocol):
    """What a new engine must supply."""

    health: str
    metrics: str
    identity: tuple[str, ...]
    reset: tuple[str, ...]

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """The command line that serves the arm on 127.0.0.1:port."""

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """Environment variables that the start needs; all of them are recorded."""

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """The request body without messages and seed, every sampling field explicit."""
