"""From a checked study to its sessions: names replaced, lists expanded, fingerprints computed."""

import json
import random
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from specdock.environments.fingerprint import environment_fingerprint
from specdock.pins.fingerprint import pin_fingerprint
from specdock.plan.check import check
from specdock.plan.fingerprint import code_fingerprint, fingerprint
from specdock.plan.load import (
    load_clients,
    load_data_sets,
    load_engines,
    load_models,
    load_study,
)
from specdock.plan.models import (
    Arm,
    Bfcl,
    Checkpoint,
    Client,
    DataSet,
    Engine,
    Flags,
    Sampling,
    Scenario,
    Study,
)
from specdock.plan.problems import ConfigError, Problem
from specdock.plan.spec import (
    DRIFT_CONTROL,
    ArmSpec,
    BfclSpec,
    CellSpec,
    ClientSpec,
    PeersSpec,
    Pinned,
    ScenarioSpec,
    SessionSpec,
)

BUILT_IN_SAMPLING = {"greedy": Sampling(temperature=0.0)}

# Modules whose meaning decides what is measured; the adapter of an engine counts for its arms only.
MEASURING_CODE = (
    "scripts/specdock/runs/client.py",
    "scripts/specdock/runs/exchange.py",
    "scripts/specdock/runs/requests.py",
    "scripts/specdock/runs/serving.py",
    "scripts/specdock/runs/session.py",
    "scripts/specdock/runs/stream.py",
    "scripts/specdock/workloads/*.py",
    "scripts/specdock/engines/contract.py",
)
# What drives BFCL's client counts for its scenarios only.
BFCL_CODE = ("scripts/specdock/runs/bfcl.py", "scripts/specdock/runs/inside/bfcl_cli.py")

# What drives clients other than ours; it counts only where one of them is named.
CLIENTS_CODE = ("scripts/specdock/clients/*.py", "scripts/specdock/runs/generated.py")
PEERS_CODE = (*CLIENTS_CODE, "scripts/specdock/peers/measure.py")


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


def resolve(root: Path, name: str) -> Plan:
    """The plan of a study; raises `ConfigError` with all that is wrong in its config."""
    study = load_study(root, name)
    if study.archived:
        return _archived(root, name, study)
    engines, models, data_sets = load_engines(root), load_models(root), load_data_sets(root)
    others = study.peers or any(scenario.load_generator for scenario in study.scenarios)
    clients = load_clients(root) if others else {}
    check(root, name, study, engines, models, data_sets, clients)
    scenarios = {
        spec.id: (spec, source)
        for source in study.scenarios
        for spec in _scenarios(root, source, study, data_sets, clients)
    }
    arms = {arm: _arm(root, arm, study, engines, models) for arm in study.arms}
    order = _order(study)
    adapters = {arm.engine.adapter for arm in arms.values()}
    code = {adapter: measuring_code(root, adapter) for adapter in adapters}
    sessions = [
        _session(name, arms[arm], seed, place, scenarios, code[arms[arm].engine.adapter])
        for place, (arm, seed) in enumerate(order)
    ]
    if study.drift_control:
        sessions.append(_drift_control(study.drift_control, sessions, study))
    specs = {key: spec for key, (spec, _) in scenarios.items()}
    peers = _peers(root, study, sessions, clients) if study.peers else None
    return Plan(name, study, arms, specs, [s for s in sessions if s.spec.cells], peers)


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


def _archived(root: Path, name: str, study: Study) -> Plan:
    """The plan of an archived study: the sessions that its committed manifests state.

    Config and code may have moved on since it was measured; they no longer decide its paths. Arms
    that were planned and never measured are left out, of roles, chain and gates, too.
    """
    found = [
        Session(SessionSpec.model_validate(json.loads(path.read_text("utf-8"))["spec"]), fp)
        for path in sorted((root / "results" / name).glob("raw/*/*/*/manifest.json"))
        for fp in [path.parent.name]
    ]
    if not found:
        file = f"config/studies/{name}.yaml"
        raise ConfigError([Problem(file, "archived", f"no session under results/{name}/raw")])
    sessions = sorted(found, key=lambda session: session.spec.order)
    arms = {session.spec.arm.name: session.spec.arm for session in sessions}
    scenarios = {c.scenario.id: c.scenario for s in sessions for c in s.spec.cells}
    ordered = {arm: arms[arm] for arm in study.arms if arm in arms}
    compared = sorted((root / "results" / name).glob("peers/*/manifest.json"))
    spec = json.loads(compared[-1].read_text("utf-8"))["spec"] if study.peers and compared else None
    peers = PeersSpec.model_validate(spec) if spec else None
    return Plan(name, _of_arms(study, set(ordered)), ordered, scenarios, sessions, peers)


def _of_arms(study: Study, arms: set[str]) -> Study:
    """The study as far as it speaks of these arms."""
    roles = {
        role: [arm for arm in named if arm in arms] if isinstance(named, list) else named
        for role, named in study.roles.items()
        if isinstance(named, list) or named in arms
    }
    return study.model_copy(
        update={
            "roles": {role: named for role, named in roles.items() if named},
            "chain": [arm for arm in study.chain if arm in arms],
            "gates": [gate for gate in study.gates if {gate.arm, gate.against} <= {*arms, None}],
        }
    )


def _order(study: Study) -> list[tuple[str, int]]:
    """Arms interleaved: every seed runs all arms once, in an order drawn from the seed."""
    order = []
    for seed in study.seeds:
        arms = sorted(study.arms)
        random.Random(seed).shuffle(arms)
        order += [(arm, seed) for arm in arms]
    return order


def _scenarios(
    root: Path,
    source: Scenario,
    study: Study,
    data_sets: dict[str, DataSet],
    clients: dict[str, Client],
) -> list[ScenarioSpec]:
    levels = source.streams if isinstance(source.streams, list) else [source.streams]
    data_set = data_sets[source.workload]
    suffix = "" if source.sampling == "greedy" else f"-{source.sampling}"
    label = (source.name or source.workload) + suffix
    sampling = study.sampling.get(source.sampling) or BUILT_IN_SAMPLING[source.sampling]
    shared = {
        key: getattr(source, key)
        for key in ScenarioSpec.model_fields
        if key in Scenario.model_fields
        and key not in ("sampling", "streams", "warmups", "load_generator")
    }
    generator = source.load_generator
    return [
        ScenarioSpec(
            id=f"{label}@{streams}",
            data_set=data_set,
            data_set_pin=pin_fingerprint(data_set),
            streams=streams,
            # BFCL's client has no warm-ups.
            warmups=0 if data_set.bfcl else max(streams, source.warmups or 0),
            sampling_name=source.sampling,
            sampling=sampling,
            bfcl=_bfcl(root, data_set.bfcl) if data_set.bfcl else None,
            load_generator=_client(root, generator.client, clients, CLIENTS_CODE, generator.flags)
            if generator
            else None,
            **shared,
        )
        for streams in levels
    ]


def _bfcl(root: Path, bfcl: Bfcl) -> BfclSpec:
    return BfclSpec(
        environment=environment_fingerprint(bfcl.environment, root),
        handler=bfcl.handler,
        code=_code(root, BFCL_CODE),
    )


def _client(
    root: Path, name: str, clients: dict[str, Client], code: tuple[str, ...], flags: Flags
) -> ClientSpec:
    entry = clients[name]
    return ClientSpec(
        name=name,
        client=entry,
        environment=environment_fingerprint(entry.environment, root),
        code=_code(root, code),
        flags=flags,
    )


def _peers(
    root: Path, study: Study, sessions: list[Session], clients: dict[str, Client]
) -> PeersSpec:
    """The arm's session of the first seed, with the one cell that the clients are compared in."""
    wanted = study.peers
    first = (wanted.arm, study.seeds[0])
    spec = next(s.spec for s in sessions if (s.spec.arm.name, s.spec.seed) == first)
    cells = [cell for cell in spec.cells if cell.scenario.id == wanted.scenario]
    return PeersSpec(
        session=spec.model_copy(update={"cells": cells}),
        clients=[_client(root, name, clients, PEERS_CODE, {}) for name in wanted.clients],
        rounds=wanted.rounds,
    )


def _arm(
    root: Path,
    name: str,
    study: Study,
    engines: dict[str, Engine],
    models: dict[str, Checkpoint],
) -> ArmSpec:
    arm: Arm = study.arms[name]
    engine = engines[arm.engine]
    drafter = arm.speculation.drafter
    return ArmSpec(
        name=name,
        engine_name=arm.engine,
        engine=engine,
        environment=environment_fingerprint(engine.environment, root),
        target=_pinned(arm.target, models),
        drafter=_pinned(drafter, models) if drafter else None,
        speculation=arm.speculation,
        serve=arm.serve,
        variables=arm.variables,
        evidence=study.evidence,
        note=arm.note,
        ready_timeout=arm.ready_timeout,
    )


def _drift_control(scenario: str, sessions: list[Session], study: Study) -> Session:
    """The reference's session of the first seed once more, last of all, with one of its cells."""
    first = next(
        session.spec
        for session in sessions
        if (session.spec.arm.name, session.spec.seed) == (study.roles["reference"], study.seeds[0])
    )
    # The same cell by all that decides it, yet another result.
    cells = [
        cell.model_copy(update={"fingerprint": fingerprint([cell.fingerprint, DRIFT_CONTROL])})
        for cell in first.cells
        if cell.scenario.id == scenario
    ]
    arm = first.arm.model_copy(update={"name": DRIFT_CONTROL})
    last = {"arm": arm, "order": len(sessions), "cells": cells}
    return Session(first.model_copy(update=last), fingerprint([c.fingerprint for c in cells]))


def _pinned(name: str, models: dict[str, Checkpoint]) -> Pinned:
    return Pinned(name=name, pin=pin_fingerprint(models[name]), checkpoint=models[name])


def _session(
    name: str,
    arm: ArmSpec,
    seed: int,
    place: int,
    scenarios: dict[str, tuple[ScenarioSpec, Scenario]],
    code: str,
) -> Session:
    cells = [
        CellSpec(
            # The name keeps two like arms apart, as an A/A control has them.
            fingerprint=fingerprint([arm.name, _decides(arm), _load(scenario), seed, code]),
            scenario=scenario,
        )
        for scenario, source in scenarios.values()
        if source.arms is None or arm.name in source.arms
    ]
    spec = SessionSpec(
        study=name,
        arm=arm,
        seed=seed,
        order=place,
        measuring_code=code,
        cells=cells,
    )
    return Session(spec, fingerprint([cell.fingerprint for cell in cells]))


def measuring_code(root: Path, adapter: str) -> str:
    """Fingerprint of the modules that decide what a session of this adapter measures."""
    patterns = (*MEASURING_CODE, f"scripts/specdock/engines/{adapter.replace('-', '_')}.py")
    return _code(root, patterns)


def _code(root: Path, patterns: tuple[str, ...]) -> str:
    return code_fingerprint([path for pattern in patterns for path in root.glob(pattern)], root)


def _decides(arm: ArmSpec) -> dict:
    """What of an arm decides its results: not its note, log patterns or patience."""
    return {
        "engine": arm.engine.model_dump(
            include={"adapter", "version", "device", "flags", "variables", "per_request_steps"}
        ),
        "serve_as": {
            key: spelled
            for key, spelled in arm.engine.serve.items()
            if getattr(arm.serve, key) is not None
        },
        "method": arm.engine.speculation[arm.speculation.method].spelled
        if arm.speculation.method != "none"
        else None,
        "environment": arm.environment,
        "target": arm.target.pin,
        "drafter": arm.drafter.pin if arm.drafter else None,
        "speculation": arm.speculation.model_dump(exclude={"drafter"}, exclude_none=True),
        "serve": arm.serve.model_dump(exclude_none=True),
        "variables": arm.variables,
    }


def _load(scenario: ScenarioSpec) -> dict:
    """What of a scenario decides its results: not its grade, floor or patience."""
    left_out = {"workload", "data_set", "sampling_name", "grade", "floor", "request_timeout"}
    decides = scenario.model_dump(exclude=left_out, exclude_none=True)
    if (generator := scenario.load_generator) is not None:
        # By the lock of its environment and the code that reads it, not by what is said of it.
        decides["load_generator"] = generator.model_dump(exclude={"client"})
    return decides
