"""Makes an environment of pack.py's pieces, under the other machine's own Python with pyarrow.

What was left out of the pieces comes from the packages of that Python, where it has them.
"""

import io
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pyarrow as pa


class Pieces(io.RawIOBase):
    """The files of a folder, read one after another in the order of their names."""

    def __init__(self, folder: Path):
        self._files = iter([path.open("rb") for path in sorted(folder.iterdir())])
        self._file = next(self._files)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray) -> int:
        """Fills the buffer from the current piece, or from the next."""
        count = self._file.readinto(buffer)
        while not count:
            self._file = next(self._files, None)
            if self._file is None:
                return 0
            count = self._file.readinto(buffer)
        return count


def main(pieces: Path, environment: Path) -> None:
    """Unpacks the pieces into a new virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    theirs = Path(sysconfig.get_paths()["purelib"])
    own = environment / theirs.relative_to(theirs.parents[2])
    stream = pa.CompressedInputStream(pa.PythonFile(io.BufferedReader(Pieces(pieces))), "zstd")
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        archive.extractall(own, filter="fully_trusted")
    # torch looks for CUDA's libraries beside itself.
    for library in theirs.glob("nvidia/*"):
        link = own / "nvidia" / library.name
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(library)
    # Read last, so that what was carried wins.
    (own / "zz-machine.pth").write_text(f"{theirs}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).absolute())
