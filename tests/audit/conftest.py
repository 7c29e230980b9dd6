"""One finished study that the tests of the audit share."""

from pathlib import Path

import pytest

from tests.audit.measured_study import measured_study


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results/small of a repository in which everything was made; tests leave it as it was."""
    return measured_study(tmp_path_factory.mktemp("repository"))
