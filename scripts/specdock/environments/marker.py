"""What an engine environment is, from config and locks alone, equal on every machine.

The DAG tracks this in place of the environment, which is built only where a cell must run; what is
really installed there is recorded by each session.
"""

from pathlib import Path

from specdock.environments.locks import read_lock, versions
from specdock.plan.fingerprint import sha256_of
from specdock.plan.models import EnvironmentSpec


def marker(spec: EnvironmentSpec, root: Path) -> dict:
    """The environment's config entry, and for each of its locks the sha256 and the packages."""
    return {
        **spec.model_dump(mode="json", exclude_none=True),
        "locks": {
            lock: {"sha256": sha256_of(root / lock), "packages": versions(read_lock(root / lock))}
            for lock in spec.locks
        },
    }
