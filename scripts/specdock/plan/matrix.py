"""The plan as a person reads it: arms × scenarios × seeds, what is measured, what is to run."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table

from specdock.plan.models import PendingSource
from specdock.plan.plan import Plan, Session
from specdock.published.ledger import load_ledger
from specdock.published.rates import published_timings, published_token_seconds

# Where no session was measured yet, the estimate starts from these.
ASSUMED_READY_SECONDS = 60.0
ASSUMED_TOKEN_SECONDS = 1 / 20


@dataclass(frozen=True)
class Known:
    """What earlier sessions of a study say about time, in seconds; published rates in tok/s, and
    published seconds a request and, at one stream, a token."""

    ready: dict[str, float]
    cell: dict[tuple[str, str], float]
    rate: dict[tuple[str, str], float]
    latency: dict[tuple[str, str], float]
    token: dict[str, float]


def measured_cells(root: Path, plan: Plan) -> set[str]:
    """Fingerprints of cells that a packed session or the ledger holds."""
    study = root / "results" / plan.name
    cells = {path.name for path in study.glob("ledger/*/*/cells/*") if path.suffix != ".part"}
    for manifest in study.glob("raw/*/*/*/manifest.json"):
        content = json.loads(manifest.read_text(encoding="utf-8"))
        cells |= {cell["cell"] for cell in content["cells"]}
    return cells


def known_times(root: Path, plan: Plan) -> Known:
    """Start times by engine and cell times by (engine, scenario), from every packed session; rates
    and latencies by (arm, scenario) and times a token by arm, as published."""
    ready: dict[str, list[float]] = {}
    cells: dict[tuple[str, str], list[float]] = {}
    for manifest in (root / "results" / plan.name).glob("raw/*/*/*/manifest.json"):
        content = json.loads(manifest.read_text(encoding="utf-8"))
        engine = content["spec"]["arm"]["engine_name"]
        ready.setdefault(engine, []).extend(s["ready_after"] for s in content["sessions"])
        for cell in content["cells"]:
            cells.setdefault((engine, cell["scenario"]), []).append(cell["wall"])
    study, arms = plan.study, list(plan.arms)
    published = load_ledger(root, study.published).figures if study.published else []
    rate, latency = (
        published_timings(published, metric, arms, list(plan.scenarios), study.stands_for)
        for metric in ("output_rate", "latency_mean")
    )
    return Known(
        {engine: mean(values) for engine, values in ready.items()},
        {key: mean(values) for key, values in cells.items()},
        rate,
        latency,
        published_token_seconds(published, arms),
    )


def estimate_seconds(session: Session, measured: set[str], known: Known) -> float:
    """Time that a session still needs; zero if nothing of it is missing."""
    missing = [cell for cell in session.spec.cells if cell.fingerprint not in measured]
    if not missing:
        return 0.0
    engine = session.spec.arm.engine_name
    total = known.ready.get(engine, ASSUMED_READY_SECONDS)
    for cell in missing:
        scenario = cell.scenario
        place = session.spec.arm.name, scenario.id
        token = known.token.get(session.spec.arm.name, ASSUMED_TOKEN_SECONDS)
        rate = known.rate.get(place, scenario.streams**0.5 / token)
        seconds = scenario.max_tokens / rate
        if place in known.latency:
            seconds = known.latency[place] / scenario.streams
        assumed = scenario.requests * seconds
        warm_up = scenario.warmups * scenario.warmup.max_tokens
        warm = 1 + warm_up / (scenario.requests * scenario.max_tokens)
        total += known.cell.get((engine, scenario.id), assumed) * warm
    return total


def print_matrix(plan: Plan, root: Path, console: Console) -> None:
    """Prints the matrix, a row an arm, and the time that remains."""
    measured = measured_cells(root, plan)
    known = known_times(root, plan)
    table = Table(title=f"{plan.name}: {plan.study.title}", title_justify="left")
    for name in ("arm", "engine", "speculation"):
        table.add_column(name)
    for scenario in plan.scenarios:
        table.add_column(scenario, justify="right")
    table.add_column("time left", justify="right")
    seconds = {s.key: estimate_seconds(s, measured, known) for s in plan.sessions}
    for arm, spec in plan.arms.items():
        own = [s for s in plan.sessions if s.spec.arm.name == arm]
        cells = [cell for session in own for cell in session.spec.cells]
        row = [
            _share([c.fingerprint for c in cells if c.scenario.id == scenario], measured)
            for scenario in plan.scenarios
        ]
        left = sum(seconds[s.key] for s in own)
        drafts = spec.speculation.draft_tokens
        method = spec.speculation.method + (f" {drafts}" if drafts else "")
        table.add_row(arm, spec.engine_name, method, *row, _duration(left))
    console.print(table)
    cells = [cell.fingerprint for session in plan.sessions for cell in session.spec.cells]
    done = sum(cell in measured for cell in cells)
    starts = sum(value > 0 for value in seconds.values())
    console.print(
        f"{len(plan.arms)} arms × {len(plan.scenarios)} scenarios × {len(plan.study.seeds)} seeds: "
        f"{len(cells)} cells, {done} measured, {len(cells) - done} to run "
        f"in {starts} engine starts, about {_duration(sum(seconds.values()))}"
        + ("" if known.ready else f" (a guess: {_guessed_from(known)})")
    )
    if plan.peers is not None:
        names = ", ".join(client.name for client in plan.peers.clients)
        cell = f"{plan.study.peers.arm}, {plan.study.peers.scenario}"
        console.print(f"cross-check of {cell} by {names}: {plan.peers.rounds} rounds, one start")
    for line in short_pins(root, plan):
        console.print(line, soft_wrap=True)


def _guessed_from(known: Known) -> str:
    if known.rate or known.token:
        return "from published rates where given, with answers as long as allowed"
    return "nothing of this study was measured yet"


def short_pins(root: Path, plan: Plan) -> list[str]:
    """A line for each pin that config states by a short commit and no lock states in full."""
    return [
        f"short commit: {name} is {entry.source.repository}@{entry.source.short_commit}; "
        f"the hub tells the full one: snakemake --cores 1 results/pins/{pin}.lock.json"
        for pin, entry in plan.pins.items()
        for name in [pin.rpartition(".")[0]]
        if isinstance(entry.source, PendingSource)
        and not (root / f"results/pins/{pin}.lock.json").is_file()
    ]


def _share(cells: list[str], measured: set[str]) -> str:
    """Measured of wanted, over the seeds; a dash where the arm does not run the scenario."""
    return f"{sum(cell in measured for cell in cells)}/{len(cells)}" if cells else "-"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
