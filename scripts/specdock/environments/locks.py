"""Hashed locks as `uv pip compile --generate-hashes` writes them."""

import re
from pathlib import Path

from specdock.errors import SpecdockError

_REQUIREMENT = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n?"
)


def read_lock(path: Path) -> dict[str, str]:
    """Package name to its requirement, the pin and its hashes, as it stands in the lock.

    Raises `SpecdockError` on a requirement that is not pinned and hashed.
    """
    statements = re.split(r"^(?=[^\s#])", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    requirements = {}
    for statement in statements[1:]:
        match = _REQUIREMENT.fullmatch(statement)
        if match is None:
            raise SpecdockError(
                f"envs/{path.name}: a requirement is not a pin with hashes\n"
                f"  found    {statement.splitlines()[0]}\n"
                "  allowed  NAME==VERSION with at least one --hash=sha256:...\n"
                f"  restore the file (git checkout envs/{path.name}) or make it anew "
                "(scripts/relock.sh)"
            )
        requirements[match["name"]] = statement
    return requirements


def versions(requirements: dict[str, str]) -> dict[str, str]:
    """Package name to pinned version."""
    return {
        name: requirement.split(maxsplit=1)[0].partition("==")[2]
        for name, requirement in requirements.items()
    }
