"""What this repository archives is whole, and stays so whatever is changed beside it."""

import pytest

from specdock.plan.load import load_study
from tests.workflow.clone import ROOT
from verify import verify

STUDIES = sorted(path.stem for path in (ROOT / "config/studies").glob("*.yaml"))
ARCHIVED = [name for name in STUDIES if load_study(ROOT, name).archived]


@pytest.mark.parametrize("name", ARCHIVED)
def test_an_archived_study_is_whole(name):
    assert any("numbers" in line for line in verify(ROOT / "results" / name))
