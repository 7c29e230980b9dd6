"""Fingerprint of an engine environment, from config and locks: cheap enough for parse time."""

from pathlib import Path

from specdock.plan.fingerprint import fingerprint, sha256_of
from specdock.plan.models import EnvironmentSpec, ExternalEnvironment, VenvEnvironment


def environment_fingerprint(spec: EnvironmentSpec, root: Path) -> str:
    """16 hex digits over what decides the environment's content: lock bytes, Python, image."""
    locks = [sha256_of(root / lock) for lock in spec.locks]
    match spec:
        case VenvEnvironment():
            return fingerprint([spec.kind, spec.python, *locks])
        case ExternalEnvironment():
            return fingerprint([spec.kind, *locks])
        case _:
            return fingerprint([spec.kind, spec.image])
