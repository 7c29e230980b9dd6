"""Fingerprint of an engine environment, from config and lock alone: cheap enough for parse time."""

from pathlib import Path

from specdock.plan.fingerprint import fingerprint, sha256_of
from specdock.plan.models import EnvironmentSpec, ExternalEnvironment, VenvEnvironment


def environment_fingerprint(spec: EnvironmentSpec, root: Path) -> str:
    """16 hex digits over what decides the environment's content: lock bytes, Python, image."""
    match spec:
        case VenvEnvironment():
            return fingerprint([spec.kind, spec.python, sha256_of(root / spec.lock)])
        case ExternalEnvironment():
            return fingerprint([spec.kind, sha256_of(root / spec.lock)])
        case _:
            return fingerprint([spec.kind, spec.image])
