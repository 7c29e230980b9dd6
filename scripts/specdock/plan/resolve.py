"""From a checked study to its sessions: names replaced, lists expanded, fingerprints computed."""

import random
from pathlib import Path

from specdock.environments.fingerprint import environment_fingerprint
from specdock.pins.fingerprint import pin_fingerprint
from specdock.plan.archived import archived
from specdock.plan.check import check
from specdock.plan.decides import (
    BFCL_CODE,
    CLIENTS_CODE,
    PEERS_CODE,
    cell_fingerprint,
    code_of,
    measuring_code,
)
from specdock.plan.fingerprint import fingerprint
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
from specdock.plan.plan import Plan, Session
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


def resolve(root: Path, name: str) -> Plan:
    """The plan of a study; raises `ConfigError` with all that is wrong in its config."""
    study = load_study(root, name)
    if study.archived:
        return archived(root, name, study)
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
        code=code_of(root, BFCL_CODE),
    )


def _client(
    root: Path, name: str, clients: dict[str, Client], code: tuple[str, ...], flags: Flags
) -> ClientSpec:
    entry = clients[name]
    return ClientSpec(
        name=name,
        client=entry,
        environment=environment_fingerprint(entry.environment, root),
        code=code_of(root, code),
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
            fingerprint=cell_fingerprint(arm, scenario, seed, code),
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
