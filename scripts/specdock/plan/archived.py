"""The plan of an archived study: what its committed manifests state, whatever config says now."""

import json
from pathlib import Path

from specdock.plan.models import Study
from specdock.plan.plan import Plan, Session
from specdock.plan.problems import ConfigError, Problem
from specdock.plan.spec import PeersSpec, SessionSpec


def archived(root: Path, name: str, study: Study) -> Plan:
    """The plan of an archived study: the sessions that its committed manifests state.

    They may have been measured under another study's name, of which this one keeps a copy. Config
    and code may have moved on since it was measured; they no longer decide its paths. Arms
    that were planned and never measured are left out, of roles, chain and gates, too.
    """
    found = [
        Session(measured.model_copy(update={"study": name}), fp)
        for path in sorted((root / "results" / name).glob("raw/*/*/*/manifest.json"))
        for fp in [path.parent.name]
        for measured in [SessionSpec.model_validate(json.loads(path.read_text("utf-8"))["spec"])]
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
