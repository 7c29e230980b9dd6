"""The page on paper: a headless Chromium prints it."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from specdock.errors import SpecdockError

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE = 300  # seconds


class PrintFailed(SpecdockError):
    """No browser, or one that printed nothing."""


def print_page(page: Path, out: Path) -> None:
    """Writes `page` as a PDF; raises `PrintFailed` with what to install, or the browser's words."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise PrintFailed(
            f"{out}: no browser to print with\n"
            f"  found    none of {', '.join(_BROWSERS)} on PATH\n"
            "  allowed  any of them, such as `apt-get install chromium`"
        )
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            # Chromium refuses its sandbox to root, who runs most containers.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={out.resolve()}",
            page.resolve().as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    if done.returncode or not out.is_file():
        raise PrintFailed(f"{out}: {Path(browser).name} printed nothing\n{done.stderr.strip()}")
