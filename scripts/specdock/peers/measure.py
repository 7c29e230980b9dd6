"""The cross-check from spec to raw files: rounds in which every client measures the same cell.

All of them ask one engine start, so that they differ by client only. Before each run caches are
emptied and our warm-up is sent; the order turns by one place a round.
"""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq

from specdock.clients.drive import drive, environment_of
from specdock.environments.build import BuiltEnvironment
from specdock.peers import OURS
from specdock.plan.fingerprint import sha256_of
from specdock.plan.spec import ClientSpec, PeersSpec
from specdock.runs.generated import load_of
from specdock.runs.measure import alone, bench_of
from specdock.runs.progress import Progress
from specdock.runs.serving import Bench, Serving, served
from specdock.runs.session import ask
from specdock.tables.counters import counter_deltas


def measure_peers(spec: PeersSpec, root: Path, out: Path, log: Path) -> None:
    """Measures every round and leaves raw files, server log and manifest in `out`.

    `out` is there whole or not at all; the manifest names the sha256 of the others. Raises
    `SpecdockError` with one message if any run failed: half a comparison is none.
    """
    session = spec.session
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    runs = spec.rounds * (len(spec.clients) + 1)
    with Progress(session.arm.name, session.seed, 1, runs, log) as progress:
        bench = bench_of(session, root, progress)
        built = {client.name: environment_of(client, root) for client in spec.clients}
        with alone(session.arm.engine):
            facts = compare(spec, bench, built, part)
    kept = sorted(path for path in part.rglob("*") if path.is_file())
    manifest = {
        "study": session.study,
        "spec": spec.model_dump(mode="json", exclude_defaults=True),
        "files": {path.relative_to(part).as_posix(): sha256_of(path) for path in kept},
        **facts,
    }
    (part / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)


def compare(spec: PeersSpec, bench: Bench, built: dict[str, BuiltEnvironment], out: Path) -> dict:
    """Runs every round against one engine; returns the manifest's `session`, `clients`, `runs`."""
    clients: list[ClientSpec | None] = [None, *spec.clients]
    runs = []
    with served(spec.session, bench, out) as serving:
        for turn in range(spec.rounds):
            start = turn % len(clients)
            for client in clients[start:] + clients[:start]:
                place = out / f"round-{turn + 1}" / (client.name if client else OURS)
                run = _theirs(serving, client, built, place) if client else _ours(serving, place)
                runs.append({"round": turn + 1, "client": client.name if client else OURS} | run)
        facts = json.loads((serving.folder / "session.json").read_text(encoding="utf-8"))
    (serving.folder / "session.json").unlink()
    (serving.folder / "server.log").rename(out / "server.log")
    serving.folder.rmdir()
    packages = {
        name: {"lock_sha256": environment.lock_sha256, "packages": environment.packages}
        for name, environment in built.items()
    }
    return {"session": facts, "clients": packages, "runs": runs}


def _ours(serving: Serving, place: Path) -> dict:
    (cell,) = serving.spec.cells
    texts: dict[str, str] = {}
    serving.bench.progress.cell(f"{cell.scenario.id}, {OURS}", cell.scenario.requests)
    serving.empty_caches()
    measured = ask(serving, cell, lambda moment: texts.update({moment: serving.metrics()}))
    place.mkdir(parents=True)
    rows = serving.table(cell, measured.rows)
    pq.write_table(rows, place / "requests.parquet", compression="zstd")
    start = datetime.fromtimestamp(measured.window_start, UTC)
    return {"started_at": start.isoformat(), **_counted(serving, texts)}


def _theirs(
    serving: Serving, client: ClientSpec, built: dict[str, BuiltEnvironment], place: Path
) -> dict:
    (cell,) = serving.spec.cells
    scenario, bench = cell.scenario, serving.bench
    serving.bench.progress.cell(f"{scenario.id}, {client.name}", scenario.requests)
    serving.empty_caches()
    serving.warm_up(cell)
    texts = {"before": serving.metrics()}
    start = datetime.now(UTC)
    load = load_of(serving, cell, client)
    argv = drive(client, built[client.name].python, load, place.relative_to(bench.root), bench.root)
    texts["after"] = serving.metrics()
    return {"started_at": start.isoformat(), "argv": argv, **_counted(serving, texts)}


def _counted(serving: Serving, texts: dict[str, str]) -> dict:
    """Tokens that the engine says to have generated in a run, whoever asked."""
    names = serving.spec.arm.engine.counters
    grown = counter_deltas(texts["before"], texts["after"], names)
    return {"counted_tokens": grown.get("generation_tokens")}
