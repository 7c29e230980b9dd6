"""One measuring job from spec to declared outputs: restore, bring up, measure, pack."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from specdock.engines import adapter_of
from specdock.engines.contract import Placed
from specdock.environments.build import build
from specdock.environments.container import find_runtime, name_of, none_left
from specdock.errors import SpecdockError
from specdock.pins.fetch import ensure_fetched
from specdock.plan.fingerprint import sha256_of
from specdock.plan.models import ContainerEnvironment, Engine
from specdock.plan.spec import ArmSpec, CellSpec, Pinned, SessionSpec
from specdock.runs.bandwidth import card_bandwidth, copy_bandwidth, not_copied
from specdock.runs.bfcl import BfclPlan
from specdock.runs.checkpoint import read_checkpoint
from specdock.runs.generated import measure_generated
from specdock.runs.host import host_facts
from specdock.runs.ledger import PACKED, Ledger
from specdock.runs.power import gpu_state, sampler
from specdock.runs.progress import Progress
from specdock.runs.repository import repository_state
from specdock.runs.session import Bench, SessionFailed, measure_missing, missing_cells
from specdock.workloads.prompts import Prompt, read_prompts, select
from specdock.workloads.prose import cut_prompts


def measure(spec: SessionSpec, root: Path, out: Path, log: Path) -> None:
    """Measures what the ledger lacks and writes requests, metrics, power, log and the manifest.

    The manifest comes last and names the sha256 of the others. Raises `SpecdockError` with one
    message if anything kept a cell from being measured.
    """
    ledger = Ledger(root / f"results/{spec.study}/ledger/{spec.arm.name}/seed-{spec.seed}")
    ledger.restore(out.parent, {cell.fingerprint for cell in spec.cells})
    missing = missing_cells(spec, ledger)
    with Progress(spec.arm.name, spec.seed, len(spec.cells), len(missing), log) as progress:
        if missing:
            with alone(spec.arm.engine):
                _measure(spec, missing, ledger, bench_of(spec, root, progress))
    packed = ledger.pack([cell.fingerprint for cell in spec.cells], out)
    kept = [*(out / name for name in PACKED), *sorted(_files_under(out / "exports"))]
    manifest = {
        "study": spec.study,
        "arm": spec.arm.name,
        "seed": spec.seed,
        "spec": spec.model_dump(mode="json", exclude_defaults=True),
        "files": {path.relative_to(out).as_posix(): sha256_of(path) for path in kept},
        **packed,
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _measure(spec: SessionSpec, missing: list[CellSpec], ledger: Ledger, bench: Bench) -> None:
    """Cells that our client measures, then those of other load generators, if there are any."""
    others = [cell for cell in missing if cell.scenario.load_generator is not None]
    own = [cell for cell in missing if cell.scenario.load_generator is None]
    failures = []
    for measure_cells, cells in ((measure_missing, own), (measure_generated, others)):
        try:
            if cells:
                measure_cells(spec, cells, ledger, bench)
        except SessionFailed as failure:
            failures.append(str(failure))
    if failures:
        raise SessionFailed("\n".join(failures))


def _files_under(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


@contextmanager
def alone(engine: Engine) -> Iterator[None]:
    """One engine at a time on this machine's card (or processor), whoever starts it.

    No container that an earlier one, or this one, was killed in stays behind.
    """
    lock = FileLock(Path(tempfile.gettempdir()) / f"specdock-{engine.device}.lock")
    contained = isinstance(engine.environment, ContainerEnvironment)
    try:
        with (
            lock.acquire(timeout=6 * 3600),
            none_left(find_runtime(), name_of(engine.device)) if contained else nullcontext(),
        ):
            yield
    except Timeout:
        raise SpecdockError(
            f"another measuring job has held {lock.lock_file} for six hours; end it and call again"
        ) from None


def bench_of(spec: SessionSpec, root: Path, progress: Progress) -> Bench:
    """What a session needs here: its environment built, its bytes fetched and checked."""
    progress.say(f"building the environment of {spec.arm.engine_name} if it is missing")
    environment = build(spec.arm.engine_name, spec.arm.engine.environment, root)
    for difference in environment.differences:
        progress.say(difference)
    progress.say("checking every byte of the checkpoints and data sets")

    def fetched(pinned: Pinned | None) -> Path | None:
        if pinned is None:
            return None
        return ensure_fetched(pinned.name, pinned.checkpoint, root).relative_to(root)

    placed = Placed(
        python=environment.python.relative_to(root)
        if environment.python.is_relative_to(root)
        else environment.python,
        target=fetched(spec.arm.target),
        drafter=fetched(spec.arm.drafter),
        cache=Path(f"resources/kernels/{spec.arm.engine_name}.{spec.arm.environment}"),
    )

    (root / placed.cache).mkdir(parents=True, exist_ok=True)

    @cache
    def folder_of(workload: str) -> Path:
        scenario = next(c.scenario for c in spec.cells if c.scenario.workload == workload)
        return ensure_fetched(workload, scenario.data_set, root)

    def prompts(cell: CellSpec) -> list[Prompt]:
        scenario = cell.scenario
        source = scenario.workload, scenario.data_set, folder_of(scenario.workload)
        if scenario.prompt_tokens is None:
            chosen = read_prompts(*source)
        else:
            count = scenario.requests + scenario.warmups
            chosen = cut_prompts(*source, root / placed.target, scenario.prompt_tokens, count)
        return select(chosen, spec.seed, scenario.requests, scenario.warmups)

    def bfcl(cell: CellSpec, project: Path) -> BfclPlan:
        scenario = cell.scenario
        client = scenario.data_set.bfcl
        return BfclPlan(
            python=build(client.name, client.environment, root).python,
            handler=client.handler,
            target=root / placed.target,
            cases=prompts(cell),
            streams=scenario.streams,
            temperature=scenario.sampling.temperature,
            project=project,
        )

    adapter = adapter_of(spec.arm.engine)
    card = gpu_state()
    variables = adapter.variables(spec.arm, placed)
    return Bench(
        root=root,
        adapter=adapter,
        placed=placed,
        prompts=prompts,
        bfcl=bfcl,
        facts={
            **repository_state(root),
            "packages": environment.packages,
            "lock_sha256": environment.lock_sha256,
            "gpu": card | _card_copy(spec.arm, environment.python, variables, card, root),
            "host": {**host_facts(), "copy_bandwidth": copy_bandwidth()},
            "checkpoints": {
                "target": read_checkpoint(root / placed.target),
                "drafter": read_checkpoint(root / placed.drafter) if placed.drafter else None,
            },
        },
        power=sampler,
        progress=progress,
    )


def _card_copy(arm: ArmSpec, python: Path, variables: dict, card: dict, root: Path) -> dict:
    """The card's bandwidth by copying, where the engine's own torch can be asked for it."""
    if arm.engine.device != "cuda":
        return not_copied("the engine computes on the processor")
    if "absent" in card:
        return not_copied(card["absent"])
    if isinstance(arm.engine.environment, ContainerEnvironment):
        return not_copied("the engine's torch is inside an image")
    if not python.name.startswith("python"):
        return not_copied(f"{python.name} is a binary without torch")
    return card_bandwidth(python, variables, root)
