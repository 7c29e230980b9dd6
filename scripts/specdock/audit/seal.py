"""The seal of a study: the sha256 of every file that belongs to its present plan.

Packs of earlier plans may lie beside those of this one, and the ledger of cells is no result; both
stay outside. Pins and environment markers, which studies share, are inside if they are there.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from specdock.errors import SpecdockError
from specdock.plan.fingerprint import canonical, sha256_of

MADE_ANEW = ("tables", "claims", "article")


def seal(folder: Path, grades: Iterable[Path], root: Path) -> Path:
    """Writes seal.json of the study in `folder`; `grades` are those that its tables stand on.

    The same files give the same bytes. Raises `SpecdockError` if a file of the plan is missing.
    """
    files = {
        path.relative_to(root).as_posix(): _digest(path, root)
        for path in sorted({*files_of_plan(folder, root), *grades})
    }
    whole = hashlib.sha256(canonical(files).encode()).hexdigest()
    content = {"study": folder.name, "sha256": whole, "files": files}
    path = folder / "seal.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def files_of_plan(folder: Path, root: Path) -> Iterator[Path]:
    """Every file of the study that its plan.json calls for, grades aside."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    yield folder / "plan.json"
    for name in MADE_ANEW:
        yield from (path for path in (folder / name).rglob("*") if _lasts(path))
    for arm, seed, fp in plan["sessions"]:
        yield folder / f"specs/{arm}/seed-{seed}.{fp}.json"
        manifest = folder / f"raw/{arm}/seed-{seed}/{fp}/manifest.json"
        yield manifest
        yield from _whole(manifest.parent)
    if (peers := plan.get("peers")) is not None:
        folder_of_peers = folder / f"peers/{peers['fingerprint']}"
        yield folder_of_peers / "manifest.json"
        yield from _whole(folder_of_peers)
    shared = [f"pins/{pin}.{kind}" for pin in pins_of(plan) for kind in ("lock", "receipt")]
    shared += [f"environments/{a['engine_name']}.{a['environment']}" for a in plan["arms"].values()]
    yield from (path for name in shared if (path := root / f"results/{name}.json").is_file())


def _whole(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _lasts(path: Path) -> bool:
    """Snakemake's own marks and prints of the page, which a browser writes anew, are no results."""
    return path.is_file() and path.suffix != ".pdf" and not path.name.startswith(".")


def pins_of(plan: dict) -> set[str]:
    """`name.fingerprint` of every checkpoint and data set of a resolved plan."""
    checkpoints = [arm[role] for arm in plan["arms"].values() for role in ("target", "drafter")]
    data_sets = {f"{row['workload']}.{row['data_set_pin']}" for row in plan["scenarios"]}
    return data_sets | {f"{pinned['name']}.{pinned['pin']}" for pinned in checkpoints if pinned}


def _digest(path: Path, root: Path) -> str:
    if not path.is_file():
        raise SpecdockError(
            f"{path.relative_to(root)}: no such file; the plan calls for it\n"
            "  run `snakemake --cores 1 article`, or restore the file if it was committed"
        )
    return sha256_of(path)
