"""Writes a whole study of invented numbers: plan, raw rows, tables and claims, of any size.

Nothing here was measured. The figures are drawn from a small model of speculative decoding (a
token rate without speculation, a speed-up per kind of text), so that tests can ask for a study in
which the candidate wins, loses, is undecided, or does not exist.
"""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from specdock.claims.build import build_claims
from specdock.plan.spec import DRIFT_CONTROL
from specdock.runs.requests import REQUEST_SCHEMA
from specdock.tables.schema import CELLS, REQUESTS, SESSIONS

Outcome = Literal["wins", "loses", "undecided"]
COMMIT = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"
SPEED_UP = {"essays": 1.25, "code": 2.1, "sums": 2.6}
TILT = {"wins": 1.3, "loses": 0.7, "undecided": 1.01}
HOSTILE = '</script><img src=x onerror="window.hacked=1"> **bold** | `tick` & <b>'

HOST = {
    "processor": "an invented processor",
    "cores": 2,
    "memory": 24.0,
    "copy_bandwidth": 12.0,
}
NO_CARD = {"absent": "no NVIDIA driver on this machine", "copy_bandwidth": None}
CARD = {
    "name": "an invented card",
    "driver": "0",
    "power_limit": 300.0,
    "copy_bandwidth": 12.0,
    "copy_method": "best of 10 copies of 4 GiB on the card by torch 9, read and written",
}
WEIGHTS = {"body": 200_000_000, "head": 56_000_000, "experts": 0, "embedding_row": 1152, "mtp": 0}
SHAPE = {
    "vocab_size": 49_152,
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
}

# Arms, roles and plans that fill every section of the article.
WHOLE: dict = {
    "arms": [
        "plain",
        "ngram",
        "drafter",
        "short",
        "scheduled",
        "elsewhere",
        "fp8-target",
        "fp8-drafter",
    ],
    "roles": {
        "reference": "plain",
        "incumbent": "ngram",
        "candidate": "drafter",
        "sweep": ["short", "scheduled"],
    },
    "unusable": None,
    "not_run": None,
    "drafts": {"short": 3},
    "schedules": {"scheduled": {"1-2": 5, "3-4": 3}},
    "chain": ["plain", "ngram", "drafter"],
    "drift_control": "essays@1",
    "variants": {
        "elsewhere": ("drafter", {"engine_name": "other-engine", "engine.adapter": "other"}),
        "fp8-target": (
            "drafter",
            {"target.name": "tiny-target-fp8", "target.checkpoint.precision": "FP8"},
        ),
        "fp8-drafter": ("drafter", {"speculation.drafter_quantization": "fp8_per_tensor"}),
    },
    "gated": "fp8-drafter",
}
# A card on which acceptance is imposed, and a drafter that others published.
IMPOSED: dict = {
    "arms": ["plain", "keeps-2", "keeps-3", "keeps-4.5", "keeps-6"],
    "roles": {
        "reference": "plain",
        "candidate": "keeps-4.5",
        "sweep": ["keeps-2", "keeps-3", "keeps-6"],
    },
    "unusable": None,
    "not_run": None,
    "workloads": {"fixed": [1, 4, 16]},
    "imposed": {"keeps-2": 2.0, "keeps-3": 3.0, "keeps-4.5": 4.5, "keeps-6": 6.0},
    "device": "cuda",
    "drafters": {"elsewhere/their-drafter": "their-plain"},
}
# A step that drafts costs so many plain steps.
STEP_COST = {1: 1.5, 4: 3.5, 16: 8.0}
ELSEWHERE = """article: none.txt
arms: {their-drafter: {words: a drafter, line: 1}, their-plain: {words: plain, line: 1}}
scenarios: {tasks@1: {words: alone, line: 1}, tasks@4: {words: four, line: 1},
  sums@1: {words: sums, line: 2}}
not_figures: []
passages:
- {line: 1, quotation: "keeps 2.5 to 5 a step", metric: acceptance_length, unit: tokens,
   arm: their-drafter, kind: quoted_from_elsewhere, figures: [
    {id: elsewhere/kept/low, value: 2.5, bound: lower},
    {id: elsewhere/kept/high, value: 5, bound: upper}]}
- {line: 1, quotation: "1.2x to 2x alone, at four 1.1x to 1.4x", metric: output_rate, form: ratio,
   unit: x, arm: their-drafter, baseline: their-plain, kind: quoted_from_elsewhere, figures: [
    {id: elsewhere/alone/low, value: 1.2, bound: lower, scenario: tasks@1},
    {id: elsewhere/alone/high, value: 2, bound: upper, scenario: tasks@1},
    {id: elsewhere/four/low, value: 1.1, bound: lower, scenario: tasks@4},
    {id: elsewhere/four/high, value: 1.4, bound: upper, scenario: tasks@4}]}
- {line: 2, quotation: "40 tokens per second and 4.2 kept", arm: their-drafter, scenario: sums@1,
   kind: quoted_from_elsewhere, figures: [
    {id: elsewhere/sums/rate, value: 40, metric: output_rate, unit: tok/s},
    {id: elsewhere/sums/kept, value: 4.2, metric: acceptance_length, unit: tokens}]}
"""

RULES = """rule resolve:
    output:
        plan="results/{study}/plan.json",
    shell:
        "true"


rule measure:
    output:
        manifest="results/{study}/raw/{arm}/seed-{seed}/{fp}/manifest.json",
        requests="results/{study}/raw/{arm}/seed-{seed}/{fp}/requests.parquet",
    shell:
        "true"


rule tables:
    output:
        requests="results/{study}/tables/requests.parquet",
        cells="results/{study}/tables/cells.parquet",
        sessions="results/{study}/tables/sessions.parquet",
    shell:
        "true"


rule claims:
    output:
        "results/{study}/claims/{table}.parquet",
    shell:
        "true"
"""


@dataclass
class SyntheticStudy:
    """What to invent; `write` lays it under a folder that stands for the repository root."""

    outcome: Outcome = "wins"
    roles: dict[str, str | list[str]] = field(
        default_factory=lambda: {
            "reference": "plain",
            "incumbent": "ngram",
            "matched": "ngram-matched",
            "candidate": "drafter",
        }
    )
    arms: list[str] = field(default_factory=lambda: ["plain", "ngram", "ngram-matched", "drafter"])
    workloads: dict[str, list[int]] = field(
        default_factory=lambda: {"essays": [1, 4], "code": [1], "sums": [1]}
    )
    seeds: list[int] = field(default_factory=lambda: [1, 2, 3])
    requests: int = 12
    text: str = "An invented answer. "
    note: str | None = None
    engine_version: str = "0.32.0+cpu"
    unusable: tuple[str, str] | None = ("ngram-matched", "code@1")
    not_run: tuple[str, str] | None = ("ngram-matched", "sums@1")
    dirty: str = ""
    chain: list[str] = field(default_factory=list)
    drafts: dict[str, int] = field(default_factory=dict)
    schedules: dict[str, dict[str, int]] = field(default_factory=dict)
    drift_control: str | None = None
    slots: int = 16
    # By arm: the arm that it is like, and what it has instead, by dotted path of its spec.
    variants: dict[str, tuple[str, dict[str, object]]] = field(default_factory=dict)
    gated: str | None = None
    imposed: dict[str, float] = field(default_factory=dict)
    drafters: dict[str, str] = field(default_factory=dict)
    device: Literal["cpu", "cuda"] = "cpu"
    name: str = "synthetic"

    def write(self, root: Path) -> Path:
        """Writes everything under `root`; returns results/<name>."""
        study = root / "results" / self.name
        for folder in ("tables", "claims"):
            (study / folder).mkdir(parents=True, exist_ok=True)
        self._write_config(root)
        rng = np.random.default_rng(7)
        cells, sessions = [], []
        starts = [(seed, arm) for seed in self.seeds for arm in self.arms]
        starts += [(self.seeds[0], DRIFT_CONTROL)] if self.drift_control else []
        table = study / "tables/requests.parquet"
        with pq.ParquetWriter(table, REQUESTS, compression="zstd") as requests:
            for order, (seed, arm) in enumerate(starts):
                measured, session = self._session(root, study, arm, seed, order, rng, requests)
                cells += measured
                sessions.append(session)
        cells_file = study / "tables/cells.parquet"
        pq.write_table(pa.Table.from_pylist(cells, CELLS), cells_file)
        pq.write_table(pa.Table.from_pylist(sessions, SESSIONS), study / "tables/sessions.parquet")
        plan = self._plan()
        (study / "plan.json").write_text(json.dumps(plan, indent=1), encoding="utf-8")
        build_claims(plan, study / "tables", root, study / "claims")
        return study

    # The plan

    def _like(self, arm: str) -> str:
        """The arm whose spec an arm has, but for its changes."""
        return self.variants.get(arm, (arm, {}))[0]

    def _first(self, role: str) -> str | None:
        """The first arm that plays a role."""
        arms = self.roles.get(role)
        return arms[0] if isinstance(arms, list) else arms

    def _scenarios(self) -> list[dict]:
        return [
            {
                "id": f"{workload}@{streams}",
                "workload": workload,
                "streams": streams,
                "requests": self.requests,
                "warmups": streams,
                "max_tokens": 128,
                "sampling_name": "greedy",
                "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": -1},
                "grade": "exact-match" if workload == "sums" else None,
                "floor": 0.3 if workload == "sums" else None,
                "fixed_length": False,
            }
            for workload, levels in self.workloads.items()
            for streams in levels
        ]

    def _arm(self, arm: str) -> dict:
        like, changes = self.variants.get(arm, (arm, {}))
        plain = like == self._first("reference")
        drafter = like == self._first("candidate") or arm in self.imposed
        spec = {
            "name": arm,
            "engine_name": "vllm-0.32.0-cpu",
            "engine": {
                "adapter": "vllm",
                "version": "0.32.0",
                "device": self.device,
                "note": "a third party's rebuild",
                "environment": {"kind": "venv", "lock": "envs/vllm-0.32.0-cpu.lock"},
            },
            "environment": "e" * 16,
            "target": _pinned("tiny-target", "a"),
            "drafter": _pinned("tiny-drafter", "d") if drafter else None,
            "speculation": {
                "method": "none" if plain else "draft_model" if drafter else "ngram",
                "draft_tokens": None if plain else self.drafts.get(arm, 5),
                "schedule": self.schedules.get(arm),
                "imposed_acceptance_length": self.imposed.get(arm),
            },
            "serve": {"request_slots": self.slots, "memory_utilization": 0.85},
            "note": self.note,
            "ready_timeout": 600,
        }
        for path, value in changes.items():
            *parents, last = path.split(".")
            inner = spec
            for key in parents:
                inner = inner[key]
            inner[last] = value
        return spec

    def _plan(self) -> dict:
        return {
            "study": self.name,
            "title": "A synthetic study of speculative decoding, invented for tests",
            "question": "Is a second model worth more than guessing from the prompt?",
            "hardware": "no-machine",
            "arms": {arm: self._arm(arm) for arm in self.arms},
            "scenarios": self._scenarios(),
            "seeds": self.seeds,
            "roles": self.roles,
            "band": {
                "accuracy": 0.05,
                "identical_share": 0.05,
                "output_rate": 0.03,
                "ttft_median": 0.1,
                "tpot_median": 0.03,
            },
            "gates": self._gates(),
            "chain": self.chain,
            "drift_control": self.drift_control,
            "caveats": [],
            "published": None,
            "published_drafters": self.drafters,
        }

    def _gates(self) -> list[dict]:
        candidate, incumbent = self._first("candidate"), self._first("incumbent")
        if candidate is None:
            return []
        limits = dict.fromkeys(("against", "at_least", "at_most", "no_worse_than"))
        of = {"arm": candidate, "scenario": "essays@1"}
        gates = [{**of, "metric": "output_rate", "at_least": 20.0}]
        if incumbent:
            against = {"against": incumbent, "metric": "output_rate"}
            gates.append({**of, **against, "at_least": 0.03})
        if self.gated:
            own = {"arm": self.gated, "against": candidate, "scenario": "essays@1"}
            gates.append({**own, "metric": "output_rate", "no_worse_than": 0.05})
            gates.append({**own, "metric": "tpot_median", "no_worse_than": 0.1})
        return [limits | gate for gate in gates]

    def _write_config(self, root: Path) -> None:
        (root / "rules").mkdir(exist_ok=True)
        (root / "rules/all.smk").write_text(RULES, encoding="utf-8")
        (root / "config").mkdir(exist_ok=True)
        (root / "config/facts.yaml").write_text("{}\n", encoding="utf-8")
        (root / "config/published").mkdir(exist_ok=True)
        (root / "config/published/elsewhere.yaml").write_text(ELSEWHERE, encoding="utf-8")

    # Sessions, cells and raw rows

    def _speculates(self, arm: str) -> bool:
        return arm not in (self._first("reference"), DRIFT_CONTROL)

    def _rate(self, arm: str, workload: str, streams: int) -> float:
        base = 18.0
        if arm in self.imposed:
            return base * self.imposed[arm] / STEP_COST[streams]
        if not self._speculates(arm):
            return base
        speed_up = SPEED_UP.get(workload, 1.5)
        drafter = self._like(arm) == self._first("candidate")
        return base * speed_up * (TILT[self.outcome] if drafter else 1.0)

    def _session(
        self,
        root: Path,
        study: Path,
        arm: str,
        seed: int,
        order: int,
        rng: np.random.Generator,
        requests: pq.ParquetWriter,
    ) -> tuple[list[dict], dict]:
        fp = hashlib.sha256(f"{arm}/{seed}".encode()).hexdigest()[:16]
        folder = study / "raw" / arm / f"seed-{seed}" / fp
        folder.mkdir(parents=True, exist_ok=True)
        raw_file = str((folder / "requests.parquet").relative_to(root))
        session = f"{arm}.seed-{seed}"
        drafts = self._like(arm) == self._first("candidate")
        start = datetime(2026, 11, 29, 9, tzinfo=UTC) + timedelta(minutes=5 * order)
        cells, raw, rows, first = [], [], [], 0
        for scenario in self._scenarios():
            if (arm, scenario["id"]) == self.not_run:
                continue
            if arm == DRIFT_CONTROL and scenario["id"] != self.drift_control:
                continue
            made = self._cell(arm, seed, scenario, session, raw_file, first, start, rng)
            cells.append(made[0])
            raw.append(made[1])
            rows.append(made[2])
            first += self.requests
        pq.write_table(pa.concat_tables(raw), folder / "requests.parquet", compression="zstd")
        requests.write_table(pa.concat_tables(rows))
        log = [f"INFO line {n} of an invented log" for n in range(1, 40)]
        log[11] = "INFO Using CPU attention backend for an invented engine"
        (folder / "server.log").write_text("\n".join(log) + "\n", encoding="utf-8")
        (folder / "manifest.json").write_text(json.dumps({"session": session}), encoding="utf-8")
        return cells, {
            "study": self.name,
            "arm": arm,
            "seed": seed,
            "session": session,
            "engine": self._arm(arm)["engine_name"],
            "engine_version": self.engine_version,
            "started_at": start,
            "ready_after": 31.5 + rng.normal(0, 2),
            "order": order,
            "kv_pool_tokens": 96_000 if drafts else 120_000,
            "request_slots": self.slots,
            "argv": ["vllm", "serve", "resources/tiny-target", "--port", "18100", "--arm", arm],
            "environment": json.dumps({"VLLM_CPU_KVCACHE_SPACE": "1"}),
            "lock_sha256": hashlib.sha256(b"lock").hexdigest(),
            "target": f"tiny-target.{'a' * 16}",
            "drafter": f"tiny-drafter.{'d' * 16}" if drafts else None,
            "gpu": json.dumps(CARD if self.device == "cuda" else NO_CARD),
            "checkpoints": json.dumps(self._checkpoints(arm)),
            "host": json.dumps(HOST),
            "commit": COMMIT,
            "dirty": self.dirty,
            "evidence": [
                {
                    "fact": "attention_backend",
                    "value": "CPU attention",
                    "line": 12,
                    "text": log[11],
                }
            ],
            "log_file": str((folder / "server.log").relative_to(root)),
            "manifest_file": str((folder / "manifest.json").relative_to(root)),
        }

    def _checkpoints(self, arm: str) -> dict:
        candidate = self._first("candidate")
        target = {"weights": WEIGHTS, "config": SHAPE}
        small = {"weights": WEIGHTS | {"body": 20_000_000, "head": 0}, "config": SHAPE}
        drafts = self._like(arm) == candidate or arm in self.imposed
        return {"target": target, "drafter": small if drafts else None}

    def _cell(
        self,
        arm: str,
        seed: int,
        scenario: dict,
        session: str,
        raw_file: str,
        first: int,
        start: datetime,
        rng: np.random.Generator,
    ) -> tuple[dict, pa.Table, pa.Table]:
        n, streams = self.requests, scenario["streams"]
        noise = 0.12 if self.outcome == "undecided" else 0.01
        rate = self._rate(arm, scenario["workload"], streams) * np.exp(rng.normal(0, noise))
        tokens = rng.integers(60, 129, n)
        ttft = rng.lognormal(np.log(0.12 * streams**0.5), 0.15, n)
        tpot = rng.lognormal(np.log(1 / rate), 0.06, n)
        duration = ttft + tpot * (tokens - 1)
        t_send = np.floor(np.arange(n) / streams) * duration.mean()
        speculates = self._speculates(arm)
        steps = 24
        accepted = rng.binomial(5, min(0.9, 0.18 * rate / 18), n * steps) if speculates else []
        length = 1 + float(np.mean(accepted)) if speculates else None
        length = self.imposed.get(arm, length)
        offsets = np.arange(n + 1) * steps if speculates else np.zeros(n + 1)
        fp = hashlib.sha256(f"{arm}/{seed}/{scenario['id']}".encode()).hexdigest()[:16]
        key = {"arm": arm, "scenario": scenario["id"], "seed": seed, "cell": fp, "session": session}
        shared = {
            "request": np.arange(n),
            "prompt_id": [f"{scenario['workload']}-{i}" for i in range(n)],
            "prompt_tokens": np.full(n, 80),
            "completion_tokens": tokens,
            "category": [("math", "prose")[i % 2] for i in range(n)],
        }
        correct = rng.random(n) < 0.6
        changed = rng.random(n) < (0.8 if self.outcome == "loses" and speculates else 0.02)
        raw = {
            "phase": ["measured"] * n,
            "body": ["{}"] * n,
            "text": [f"{self.text}({i})" + (" Again." if changed[i] else "") for i in range(n)],
            "t_send": t_send,
            "t_first": t_send + ttft,
            "t_last": t_send + duration,
            "t_end": t_send + duration,
            "step_accepted": pa.ListArray.from_arrays(
                pa.array(offsets, pa.int32()), pa.array(accepted, pa.int32())
            ),
        }
        table = {
            "study": [self.name] * n,
            "ttft": ttft * 1e3,
            "tpot": tpot * 1e3,
            "latency": duration * 1e3,
            "steps": np.ceil((tokens - 1) / (length or 1)).astype(int),
            "correct": correct if scenario["grade"] else [None] * n,
            "raw_file": [raw_file] * n,
            "raw_row": np.arange(first, first + n),
        }
        columns = {name: [value] * n for name, value in key.items()} | shared
        bad = (arm, scenario["id"]) == self.unusable
        graded = n if scenario["grade"] else None
        right = int(correct.sum()) if graded else None
        drafts = n * steps
        wall = float((t_send + duration).max())
        cell = {
            "study": self.name,
            "arm": arm,
            "scenario": scenario["id"],
            "seed": seed,
            "cell": fp,
            "session": session,
            "workload": scenario["workload"],
            "streams": streams,
            "sampling": "greedy",
            "engine": self._arm(arm)["engine_name"],
            "fixed_length": False,
            "synthetic": True,
            "usable": not bad,
            "reasons": ["degenerate-output"] if bad else [],
            "remarks": ["synthetic", "third-party-engine"],
            "requests": n,
            "window_start": start,
            "wall": wall,
            "prompt_tokens": 80 * n,
            "completion_tokens": int(tokens.sum()),
            "output_rate": rate * streams**0.8,
            "ttft_median": float(np.median(ttft)) * 1e3,
            "ttft_mean": float(ttft.mean()) * 1e3,
            "tpot_median": float(np.median(tpot)) * 1e3,
            "latency_median": float(np.median(duration)) * 1e3,
            "finished_stop": 0.8,
            "drafts": drafts if speculates else 0,
            "draft_tokens": drafts * 5 if speculates else 0,
            "accepted_tokens": int(np.sum(accepted)) if speculates else 0,
            "al_counter": length,
            "al_committed": length,
            "acceptance_rate": (length - 1) / 5 if length else None,
            "accepted_per_position": _by_position(accepted) if speculates else None,
            "verification_steps": int(np.sum(table["steps"])),
            "step_time": float((duration - ttft).sum() / np.sum(table["steps"])) * 1e3,
            "graded": graded,
            "correct": right,
            "accuracy": right / graded if graded else None,
            **(_energy(wall, rng) if self.device == "cuda" else {}),
            "degenerate": n if bad else 0,
            "client_cpu": 0.05,
            "loop_lag": 3.0,
            "raw_file": raw_file,
            "raw_rows": list(range(first, first + n)),
        }
        return cell, _table(columns | raw, REQUEST_SCHEMA), _table(columns | table, REQUESTS)


def _pinned(name: str, letter: str) -> dict:
    checkpoint = {"model": name, "precision": "BF16"}
    return {"name": name, "pin": letter * 16, "checkpoint": checkpoint}


def _energy(wall: float, rng: np.random.Generator) -> dict:
    """Joules of a window at 300 W, by a counter and by samples."""
    counter, trapezoid = 300 * wall * np.exp(rng.normal(0, 0.005, 2))
    return {
        "power": trapezoid / wall,
        "energy_counter": counter,
        "energy_trapezoid": trapezoid,
        "energy_coverage": 1.0,
    }


def _by_position(accepted: np.ndarray) -> list[float]:
    return [float(np.mean(accepted >= position)) for position in range(1, 6)]


def _table(columns: dict, schema: pa.Schema) -> pa.Table:
    """A table of a schema; columns that are not given are null."""
    rows = len(next(iter(columns.values())))
    arrays = [
        pa.array(columns[item.name], item.type)
        if item.name in columns
        else pa.nulls(rows, item.type)
        for item in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
