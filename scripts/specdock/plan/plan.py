"""A plan: a study with every name resolved, and the sessions that measure it."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from specdock.pins.fingerprint import pin_fingerprint
from specdock.plan.fingerprint import fingerprint
from specdock.plan.models import Bfcl, Checkpoint, Client, DataSet, Engine, Study
from specdock.plan.spec import ArmSpec, ClientSpec, PeersSpec, ScenarioSpec, SessionSpec


@dataclass(frozen=True)
class Session:
    """A session of the plan: its spec and the fingerprint in its path."""

    spec: SessionSpec
    fingerprint: str

    @property
    def key(self) -> tuple[str, int, str]:
        """(arm, seed, fingerprint): the wildcards of its files."""
        return self.spec.arm.name, self.spec.seed, self.fingerprint


@dataclass(frozen=True)
class Plan:
    """A study resolved against the catalogues of this repository."""

    name: str
    study: Study
    arms: dict[str, ArmSpec]
    scenarios: dict[str, ScenarioSpec]
    sessions: list[Session]
    peers: PeersSpec | None = None

    @cached_property
    def peers_fingerprint(self) -> str:
        """What decides the cross-check: its cell, who measures it, how often."""
        decides = [[c.name, c.environment, c.code] for c in self.peers.clients]
        cell = self.peers.session.cells[0].fingerprint
        return fingerprint([cell, decides, self.peers.rounds])

    @cached_property
    def by_key(self) -> dict[tuple[str, int, str], Session]:
        """Sessions by (arm, seed, fingerprint)."""
        return {session.key: session for session in self.sessions}

    @cached_property
    def pins(self) -> dict[str, Checkpoint | DataSet]:
        """Every model and data set that the study needs, by `name.fingerprint`."""
        models = [p for arm in self.arms.values() for p in (arm.target, arm.drafter) if p]
        needed: dict[str, Checkpoint | DataSet] = {}
        for pinned in models:
            needed[f"{pinned.name}.{pinned.pin}"] = pinned.checkpoint
            if derive := pinned.checkpoint.derive:
                needed[f"{derive.base}.{pin_fingerprint(derive.checkpoint)}"] = derive.checkpoint
        for scenario in self.scenarios.values():
            needed[f"{scenario.workload}.{scenario.data_set_pin}"] = scenario.data_set
        return needed

    @cached_property
    def environments(self) -> dict[str, Engine | Client | Bfcl]:
        """What has an environment that the study needs, by `name.fingerprint`."""
        needed = {f"{a.engine_name}.{a.environment}": a.engine for a in self.arms.values()}
        needed |= {f"{c.name}.{c.environment}": c.client for c in self.clients.values()}
        asked = [scenario for scenario in self.scenarios.values() if scenario.bfcl]
        return needed | {bfcl_environment(s): s.data_set.bfcl for s in asked}

    @cached_property
    def clients(self) -> dict[str, ClientSpec]:
        """Every client other than ours that the study needs, by name."""
        named = [s.load_generator for s in self.scenarios.values() if s.load_generator]
        return {spec.name: spec for spec in [*named, *(self.peers.clients if self.peers else [])]}


def bfcl_environment(scenario: ScenarioSpec) -> str:
    """`name.fingerprint` of the environment that a scenario of BFCL is asked from."""
    return f"{scenario.data_set.bfcl.name}.{scenario.bfcl.environment}"


def replayed(plan: Plan, root: Path) -> Plan:
    """The plan with what is there already: what is rendered without measuring."""
    study = root / "results" / plan.name
    raw = study / "raw"
    there = [
        session
        for session in plan.sessions
        for arm, seed, fp in [session.key]
        if (raw / arm / f"seed-{seed}" / fp / "manifest.json").is_file()
    ]
    if plan.peers and not (study / f"peers/{plan.peers_fingerprint}/manifest.json").is_file():
        return replace(plan, sessions=there, peers=None)
    return replace(plan, sessions=there)


def resolved_study(plan: Plan) -> dict:
    """The study with every name resolved, JSON-able: what claims, article and audit read."""
    peers = plan.peers and {
        **plan.study.peers.model_dump(mode="json"),
        "fingerprint": plan.peers_fingerprint,
    }
    return {
        "study": plan.name,
        **plan.study.model_dump(mode="json", exclude={"arms", "scenarios"}),
        "peers": peers,
        "arms": {name: arm.model_dump(mode="json") for name, arm in plan.arms.items()},
        "scenarios": [spec.model_dump(mode="json") for spec in plan.scenarios.values()],
        "sessions": [list(session.key) for session in plan.sessions],
    }
