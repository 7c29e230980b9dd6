"""Which code measures: the commit of this repository, and any uncommitted change, kept whole."""

import hashlib
import subprocess
from pathlib import Path


def repository_state(root: Path) -> dict:
    """`commit`, `patch` (text of the uncommitted change to tracked files, results aside) and
    `dirty` (its sha256, empty if there is none). Outside git the commit is empty."""
    commit = _git(root, "rev-parse", "HEAD").strip()
    if not commit:
        return {"commit": "", "patch": "", "dirty": ""}
    patch = _git(root, "diff", "--binary", "HEAD", "--", ".", ":!results")
    others = ("ls-files", "--others", "--exclude-standard", "--", "scripts", "config", "envs")
    untracked = _git(root, *others)
    patch += "".join(_as_patch(root / name, name) for name in untracked.splitlines())
    dirty = hashlib.sha256(patch.encode()).hexdigest() if patch else ""
    return {"commit": commit, "patch": patch, "dirty": dirty}


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout


def _as_patch(path: Path, name: str) -> str:
    """A new file, written as git would show it, so that the patch is complete."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    return f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@\n{added}"
