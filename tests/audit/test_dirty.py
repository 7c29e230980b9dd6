"""A measurement made with uncommitted changes says so, from the manifest down to the page."""

import json
from hashlib import sha256

import pyarrow.parquet as pq
import pytest

from specdock.runs.repository import repository_state
from tests.audit.measured_study import NAME, git, measured_study


@pytest.fixture(scope="module")
def dirty(tmp_path_factory):
    """A study measured after somebody edited a tracked file and added a new one."""

    def meddle(root):
        (root / "scripts/measure.py").open("a").write("# quick fix\n")
        (root / "scripts/specdock/quick.py").write_text("FIX = 1\n")
        (root / "envs/quick.lock").write_text("fix==1\n")
        (root / "LICENSE").write_bytes(b"\0\1")

    return measured_study(tmp_path_factory.mktemp("dirty"), before_measuring=meddle)


def test_the_manifest_keeps_the_whole_patch(dirty):
    for path in dirty.glob("raw/*/*/*/manifest.json"):
        for session in json.loads(path.read_text())["sessions"]:
            assert "+# quick fix" in session["patch"]
            assert "+++ b/scripts/specdock/quick.py" in session["patch"]
            assert session["dirty"] == sha256(session["patch"].encode()).hexdigest()
            assert len(session["commit"]) == 40


def test_the_patch_makes_the_measuring_code_again(dirty, tmp_path):
    manifest = json.loads(next(dirty.glob("raw/*/*/*/manifest.json")).read_text())
    session = manifest["sessions"][0]
    git(tmp_path, "clone", "-q", str(dirty.parents[1]), ".")
    git(tmp_path, "checkout", "-q", session["commit"])
    (tmp_path / "patch").write_text(session["patch"])
    git(tmp_path, "apply", "patch")
    assert (tmp_path / "scripts/measure.py").read_text().endswith("# quick fix\n")
    assert (tmp_path / "scripts/specdock/quick.py").read_text() == "FIX = 1\n"
    assert (tmp_path / "envs/quick.lock").read_text() == "fix==1\n"
    assert (tmp_path / "LICENSE").read_bytes() == b"\0\1"


def test_cells_ledger_and_page_say_so(dirty):
    cells = pq.read_table(dirty / "tables/cells.parquet").to_pylist()
    assert all("uncommitted-change" in cell["remarks"] for cell in cells)
    numbers = json.loads((dirty / "article/numbers.json").read_text())["numbers"]
    assert all(number["dirty"] for number in numbers if number["sessions"])
    assert "uncommitted" in (dirty / "article/article.md").read_text()


def test_results_and_a_clean_tree_are_no_change(study):
    root = study.parents[1]
    assert repository_state(root)["dirty"] == ""
    cells = pq.read_table(study / "tables/cells.parquet").to_pylist()
    assert not any("uncommitted-change" in cell["remarks"] for cell in cells)
    assert (root / f"results/{NAME}/seal.json").is_file()
