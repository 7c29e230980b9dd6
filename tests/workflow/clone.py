"""A clone of this work tree with results that look finished, and what Snakemake would do in it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from specdock.plan.files import Files
from specdock.plan.resolve import resolve

ROOT = Path(__file__).parents[2]
STUDY = "demo"


def clone(to: Path) -> Path:
    """Every file that git tracks or would track, results aside."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if not name.startswith("results/") and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)
    return to


def pretend_measured(root: Path) -> None:
    """Writes an empty file for every output of the study; a clone has no other memory."""
    plan = resolve(root, STUDY)
    files = Files(plan, root)
    names = [*files.article, *files.manifests, *files.specs, *files.grades]
    names.append(f"results/{STUDY}/plan.json")
    names += [
        f"results/pins/{pin}.{kind}.json" for pin in plan.pins for kind in ("lock", "receipt")
    ]
    names += [f"results/environments/{engine}.json" for engine in plan.environments]
    for session in plan.sessions:
        arm, seed, fp = session.key
        pack = f"results/{STUDY}/raw/{arm}/seed-{seed}/{fp}"
        names += [f"{pack}/{name}.parquet" for name in ("requests", "metrics", "power")]
        names.append(f"{pack}/server.log")
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def planned_jobs(root: Path, *arguments: str) -> dict[str, int]:
    """Rule to number of jobs that `snakemake -n` would run."""
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "1", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    table = (done.stdout + done.stderr).partition("Job stats:")[2]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


def edit(root: Path, name: str, old: str, new: str) -> None:
    """Replaces a text that must be there."""
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
