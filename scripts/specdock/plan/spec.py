"""What one session needs, complete: the resolved spec that the measuring job reads."""

from typing import Annotated

from pydantic import Field

from specdock.plan.models import (
    Checkpoint,
    Client,
    DataSet,
    Engine,
    Evidence,
    Flags,
    Model,
    Sampling,
    Serve,
    Speculation,
)
from specdock.plan.values import Fraction

# The arm that repeats the reference at the end of a campaign; no study may use its name.
DRIFT_CONTROL = "drift-control"


class BfclSpec(Model):
    """What of BFCL's client decides a result: fingerprints of its environment and of its driver."""

    environment: str
    handler: str
    code: str


class ClientSpec(Model):
    """A client other than ours: its entry, the environment it lives in, what it is told beyond."""

    name: str
    client: Client
    environment: str = Field(description="fingerprint of its environment")
    code: str = Field(description="fingerprint of the modules that drive and read it")
    flags: Flags = {}


class ScenarioSpec(Model):
    """One workload at one concurrency, with its sampling fields and data set spelled out."""

    id: str
    workload: str
    data_set: DataSet
    data_set_pin: str
    streams: int
    requests: int
    warmups: int
    warmup_tokens: int | None = None
    max_tokens: int
    sampling_name: str
    sampling: Sampling
    thinking: bool | None = None
    effort: str | None = None
    prompt_tokens: int | None = None
    grade: str | None = None
    floor: Fraction | None = None
    fixed_length: bool = False
    request_timeout: int = 600
    bfcl: BfclSpec | None = Field(None, description="BFCL's client, where it asks in place of ours")
    load_generator: ClientSpec | None = None

    @property
    def warmup(self) -> "ScenarioSpec":
        """The scenario as its warm-ups are asked: alike but for their length."""
        return self.model_copy(update={"max_tokens": self.warmup_tokens or self.max_tokens})


class CellSpec(Model):
    """A scenario to measure, and the fingerprint under which its result is kept."""

    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    scenario: ScenarioSpec


class Pinned(Model):
    """A checkpoint by name, its config entry and the fingerprint of its bytes."""

    name: str
    pin: str
    checkpoint: Checkpoint


class ArmSpec(Model):
    """One arm with every name replaced by what it stands for."""

    name: str
    engine_name: str
    engine: Engine
    environment: str = Field(description="fingerprint of the engine environment")
    target: Pinned
    drafter: Pinned | None = None
    speculation: Speculation
    serve: Serve
    variables: dict[str, str] = {}
    evidence: Evidence = Evidence()
    note: str | None = None
    ready_timeout: int

    @property
    def synthetic(self) -> bool:
        """Dummy weights or an imposed acceptance: only speed is real."""
        weights = [self.target, *([self.drafter] if self.drafter else [])]
        return self.speculation.imposed or any(pinned.checkpoint.synthetic for pinned in weights)


class SessionSpec(Model):
    """One arm and seed: an engine start with the cells that it carries."""

    study: str
    arm: ArmSpec
    seed: int
    order: int = Field(description="place in the campaign's seeded order, from 0")
    measuring_code: str
    cells: list[CellSpec]

    def judged_by(self, now: "SessionSpec") -> "SessionSpec":
        """What was measured, with what config says now of how to judge it.

        A grade, a floor, an arm's evidence and an engine's log patterns decide no raw row, so they
        are in no fingerprint, and may change after a session was measured; so may the name of the
        study, of which an archive is a copy.
        """
        today = {cell.fingerprint: cell.scenario for cell in now.cells}
        cells = []
        for cell in self.cells:
            judged = {key: getattr(today[cell.fingerprint], key) for key in ("grade", "floor")}
            scenario = cell.scenario.model_copy(update=judged)
            cells.append(cell.model_copy(update={"scenario": scenario}))
        engine = self.arm.engine.model_copy(update={"patterns": now.arm.engine.patterns})
        arm = self.arm.model_copy(update={"engine": engine, "evidence": now.arm.evidence})
        return self.model_copy(update={"study": now.study, "arm": arm, "cells": cells})


class PeersSpec(Model):
    """A cross-check: a session's one cell, and the clients that measure it beside ours."""

    session: SessionSpec
    clients: list[ClientSpec]
    rounds: int
