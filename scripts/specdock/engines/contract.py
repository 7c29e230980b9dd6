"""The whole contract of an engine: its command, its endpoints and its request fields.

An adapter knows neither the client nor the tables nor the article. What data can say (flags, metric
names, log patterns per version) is in config/engines.yaml.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specdock.plan.models import Flags
from specdock.plan.spec import ArmSpec, ScenarioSpec

SERVED_NAME = "target"


@dataclass(frozen=True)
class Placed:
    """Where an arm's parts lie on this machine, and the address that the server listens on."""

    python: Path
    target: Path
    drafter: Path | None
    cache: Path
    host: str = "127.0.0.1"


class Adapter(Protocol):
    """What a new engine must supply."""

    health: str
    metrics: str
    identity: tuple[str, ...]
    reset: tuple[str, ...]

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """The command line that serves the arm on the placed host and port."""

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """Environment variables that the start needs; all of them are recorded."""

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """The request body without messages and seed, every sampling field explicit."""


def served_as(arm: ArmSpec) -> Flags:
    """The arm's serve keys under the engine's own names: flags, and variables without dashes."""
    named: Flags = {}
    for key, spelled in arm.engine.serve.items():
        value = getattr(arm.serve, key)
        if value is None:
            continue
        if isinstance(spelled, dict):
            named |= spelled.get(str(value).lower(), {})
        else:
            named[spelled] = value
    return named


def as_arguments(flags: Flags) -> list[str]:
    """True is a bare flag, false or null leaves the flag out, anything else follows its flag."""
    arguments: list[str] = []
    for flag, value in flags.items():
        if value is True:
            arguments.append(flag)
        elif value is not False and value is not None:
            arguments += [flag, str(value)]
    return arguments


def chat_body(scenario: ScenarioSpec) -> dict:
    """The fields of a streamed chat completion that engines name alike.

    Thinking and effort are both sent where both are given, since effort alone switches thinking on.
    """
    sampling = scenario.sampling
    body: dict[str, object] = {
        "model": SERVED_NAME,
        "max_tokens": scenario.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "ignore_eos": scenario.fixed_length,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if scenario.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": scenario.thinking}
    if scenario.effort is not None:
        body["reasoning_effort"] = scenario.effort
    return body
