"""Arms of the engines of this repository, resolved as the plan resolves them."""

from pathlib import Path

from specdock.plan.load import load_engines
from specdock.plan.models import Checkpoint, PathSource, Sampling, Serve, Speculation
from specdock.plan.spec import ArmSpec, Pinned, ScenarioSpec

ROOT = Path(__file__).parents[2]
ENGINES = load_engines(ROOT)


def checkpoint(name: str) -> Pinned:
    """A checkpoint of this repository."""
    source = PathSource(path=f"weights/{name}")
    entry = Checkpoint(description=name, licence="MIT", source=source)
    return Pinned(name=name, pin="0" * 16, checkpoint=entry)


def arm(engine: str, speculation: dict | None = None, serve: dict | None = None) -> ArmSpec:
    """An arm of an engine, with a drafter where its method needs one."""
    wanted = Speculation(**(speculation or {}))
    support = ENGINES[engine].speculation.get(wanted.method)
    return ArmSpec(
        name="arm",
        engine_name=engine,
        engine=ENGINES[engine],
        environment="0" * 16,
        target=checkpoint("target"),
        drafter=checkpoint("drafter") if support and support.needs_drafter else None,
        speculation=wanted,
        serve=Serve(**(serve or {})),
        ready_timeout=1800,
    )


def scenario(**fields: object) -> ScenarioSpec:
    """A greedy scenario at one stream."""
    return ScenarioSpec.model_construct(max_tokens=64, sampling=Sampling(temperature=0.0), **fields)


def options(command: list[str]) -> dict[str, str | bool]:
    """Flag to value; True where no value follows."""
    found: dict[str, str | bool] = {}
    for word, follows in zip(command, [*command[1:], "--"], strict=True):
        if word.startswith("--"):
            found[word] = True if follows.startswith("--") else follows
    return found
