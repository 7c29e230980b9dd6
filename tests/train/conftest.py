"""The recipe has an environment of its own; tests under inside/ run there, not here."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
collect_ignore = [] if find_spec("torch") else ["inside"]


@pytest.fixture(scope="session")
def interpreter() -> Path:
    """Python of the recipe's environment, built from its lock if it is not there yet."""
    from interpreter import ENVIRONMENT

    from specdock.environments.build import build

    return build("train", ENVIRONMENT, ROOT).python
