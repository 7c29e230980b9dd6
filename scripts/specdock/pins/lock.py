"""The lock of a pin: which files, of which size and hash, from where, under which licence."""

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from specdock.errors import SpecdockError


class PinError(SpecdockError):
    """Bytes that cannot be had, or are not the pinned ones."""


class LockedFile(BaseModel):
    """One file; the hub states sha256 for large files and git's blob hash for small ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    size: int
    sha256: str | None = None
    git_sha1: str | None = None

    def check(self, folder: Path) -> None:
        """Re-hashes the file under `folder`; raises `PinError` unless it is the locked one."""
        path = folder / self.path
        if not path.is_file():
            raise PinError(f"{path}: the pinned file is missing")
        stated, found = (
            (self.sha256, _sha256(path)) if self.sha256 else (self.git_sha1, _git_sha1(path))
        )
        if found != stated:
            raise PinError(
                f"{path}: these are not the pinned bytes\n"
                f"  found    {found}\n  allowed  {stated}\n"
                "  restore or delete the file (a missing one is fetched anew), or pin the new bytes"
            )


class Lock(BaseModel):
    """What a pin stands for, in full; the same form for hub, package and repository files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: dict
    licence: str
    files: list[LockedFile]

    def check(self, folder: Path) -> None:
        """Re-hashes every file under `folder`; raises `PinError` at the first wrong one."""
        for file in self.files:
            file.check(folder)


def locked(path: Path, name: str) -> LockedFile:
    """A local file as a lock states it; raises `PinError` if it is missing."""
    if not path.is_file():
        raise PinError(f"{path}: the file to pin is missing")
    return LockedFile(path=name, size=path.stat().st_size, sha256=_sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git_sha1(path: Path) -> str:
    """git's hash of a blob: sha1 over `blob <size>\\0` and the content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
