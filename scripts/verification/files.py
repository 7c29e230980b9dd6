"""Hashes: of every sealed file, of every raw pack; and what raw rows must fulfil by themselves."""

import hashlib
import json
from collections.abc import Iterator

from verification.study import BrokenLink, Pack, Row, Study, compare, sha256


def check_seal(study: Study) -> Iterator[str]:
    """Every file that the seal lists is as sealed, and every file of the plan is listed."""
    where, files = f"{study.shown}/seal.json", study.seal["files"]
    text = json.dumps(files, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    content = {"study": study.name, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    if study.text("seal.json") != json.dumps(content | {"files": files}, indent=1) + "\n":
        raise BrokenLink(f"{where}: is not as it was written; of its list follows {content}")
    for name, stated in files.items():
        if (found := sha256(study.root / name)) != stated:
            raise BrokenLink(f"{name}: sha256 is {found}, the seal states {stated}")
    needed = {f"{study.shown}/plan.json"}
    for pack in study.packs:
        needed |= {f"{pack.shown}/{name}" for name in ("manifest.json", *pack.manifest["files"])}
        needed.add(pack.spec_file)
    there = {path for path in study.folder.rglob("*") if path.is_file()}
    # Snakemake's own marks and prints of the page, which a browser writes anew, are no results.
    there = {path for path in there if path.suffix != ".pdf" and not path.name.startswith(".")}
    there -= {study.folder / "seal.json", *(study.folder / "ledger").rglob("*")}
    others = {path.relative_to(study.root).as_posix() for path in there} - files.keys()
    made_anew = tuple(f"{study.shown}/{part}/" for part in ("tables", "claims", "article"))
    for name in sorted(needed - files.keys() | others):
        if name in needed or name.startswith(made_anew):
            raise BrokenLink(f"{name}: is not in the seal")
    yield f"{len(files)} files have the hash that the seal states"
    if others:
        yield f"{len(others)} files of earlier plans lie beside them and were not looked at"


def check_packs(study: Study) -> Iterator[str]:
    """Manifests state the files beside them; raw rows agree with themselves and their spec."""
    count = 0
    for pack in study.packs:
        where, manifest = f"{pack.shown}/manifest.json", pack.manifest
        # An archive may be a copy of what was measured under another name.
        about = {"study": manifest["spec"]["study"], "arm": pack.arm, "seed": pack.seed}
        compare(where, manifest, about, whole=False)
        compare(where, pack.spec, {"study": study.name, "seed": pack.seed}, whole=False)
        compare(where, pack.spec["arm"], {"name": pack.arm}, whole=False)
        for name, stated in manifest["files"].items():
            if (found := sha256(pack.path / name)) != stated:
                raise BrokenLink(f"{pack.shown}/{name}: sha256 is {found}, its manifest {stated}")
        measured = [cell["cell"] for cell in manifest["cells"]]
        if measured != list(pack.scenarios):
            raise BrokenLink(f"{where}: its cells are not those of its spec")
        for session in manifest["sessions"]:
            patch = session["patch"]
            dirty = hashlib.sha256(patch.encode()).hexdigest() if patch else ""
            compare(where, session, {"dirty": dirty}, whole=False)
        for number, row in enumerate(pack.rows):
            check_raw_row(f"{pack.shown}/requests.parquet, row {number}", pack, row)
        count += len(pack.rows)
    yield f"{len(study.packs)} manifests and {count} raw rows agree with themselves"


def check_raw_row(where: str, pack: Pack, row: Row) -> None:
    """What a raw row must fulfil whatever was measured."""
    compare(where, row, {"arm": pack.arm, "seed": pack.seed}, whole=False)
    if row["prompt_hash_of"] == "messages":
        messages = json.loads(row["body"])["messages"]
        text = json.dumps(messages, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        compare(where, row, {"prompt_sha256": digest}, whole=False)
    if row["prompt_hash_of"] == "first_prompt":
        prompt = json.loads(row["body"])[0]["body"]["prompt"]
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        compare(where, row, {"prompt_sha256": digest}, whole=False)
    times = row["chunk_times"]
    ends = {"t_first": times[0], "t_last": times[-1]} if times else {}
    compare(where, row, ends, whole=False)
    clock = [row["t_enqueue"], row["t_send"], *times, row["t_end"]]
    clock = [moment for moment in clock if moment is not None]
    if clock != sorted(clock):
        raise BrokenLink(f"{where}: its times do not ascend")
    if len(times) != len(row["chunk_tokens"]):
        raise BrokenLink(f"{where}: {len(times)} chunk_times, {len(row['chunk_tokens'])} tokens")
