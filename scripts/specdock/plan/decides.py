"""What decides a result, and hence the fingerprint under which it is kept: nothing else does."""

from pathlib import Path

from specdock.plan.fingerprint import code_fingerprint, fingerprint
from specdock.plan.spec import ArmSpec, ScenarioSpec

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


def cell_fingerprint(arm: ArmSpec, scenario: ScenarioSpec, seed: int, code: str) -> str:
    """Of an arm in a scenario; its name keeps two like arms apart, as an A/A control has them."""
    return fingerprint([arm.name, _decides(arm), _load(scenario), seed, code])


def measuring_code(root: Path, adapter: str) -> str:
    """Fingerprint of the modules that decide what a session of this adapter measures."""
    patterns = (*MEASURING_CODE, f"scripts/specdock/engines/{adapter.replace('-', '_')}.py")
    return code_of(root, patterns)


def code_of(root: Path, patterns: tuple[str, ...]) -> str:
    """Fingerprint of the modules under these patterns, by their syntax."""
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
