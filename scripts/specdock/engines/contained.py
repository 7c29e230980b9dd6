"""Any engine in an image: the same adapter, its command line run by a container runtime."""

import os
from dataclasses import replace

from specdock.engines.contract import Adapter, Placed
from specdock.environments import container
from specdock.plan.models import ContainerEnvironment
from specdock.plan.spec import ArmSpec, ScenarioSpec


class InContainer:
    """An adapter around another."""

    def __init__(self, adapter: Adapter, runtime: str):
        self._adapter = adapter
        self._runtime = runtime
        self.health = adapter.health
        self.metrics = adapter.metrics
        self.identity = adapter.identity
        self.reset = adapter.reset

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """The engine's own command, inside the image of the arm's engine."""
        environment = arm.engine.environment
        assert isinstance(environment, ContainerEnvironment)
        inside = replace(placed, host=container.listens_on(self._runtime))
        on_card = arm.engine.device == "cuda"
        contained = container.Contained(
            name=container.name_of(arm.engine.device),
            image=environment.image,
            command=self._adapter.command(arm, inside, port),
            variables=self._adapter.variables(arm, inside),
            read_only=list(dict.fromkeys(p for p in (placed.target, placed.drafter) if p)),
            cache=placed.cache,
            port=port,
            gpus=os.environ.get("CUDA_VISIBLE_DEVICES", "all") if on_card else None,
        )
        return container.command(self._runtime, contained)

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """The engine's own variables, which the runtime hands on."""
        return self._adapter.variables(arm, placed)

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """The engine's own request body."""
        return self._adapter.body(arm, scenario)
