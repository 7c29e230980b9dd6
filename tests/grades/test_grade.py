"""A session's answers are graded row by row, the same way every time."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from specdock.errors import SpecdockError
from specdock.grades.grade import GRADE_SCHEMA, Grader, grade_session
from specdock.grades.sandbox import Sandbox
from specdock.pins.fetch import make_lock, pin_of
from specdock.plan.load import load_data_sets
from specdock.plan.resolve import resolve
from specdock.plan.spec import CellSpec, SessionSpec
from specdock.runs.requests import REQUEST_SCHEMA, RequestRow, as_table
from specdock.workloads.prompts import Prompt
from tests.grades.refusal import REFUSING
from tests.plan.repository import STUDY, write_repository

ROOT = Path(__file__).parents[2]
PROBLEM = {
    "prompt": 'def one() -> int:\n    """One."""\n',
    "test": "def check(candidate):\n    assert candidate() == 1\n",
    "entry_point": "one",
}
PROMPTS = {
    "sums": {"s0": Prompt("s0", [], answer="7"), "s1": Prompt("s1", [], answer="#### 8")},
    "functions": {"f0": Prompt("f0", [], extra=PROBLEM)},
}
FUNCTIONS = """
functions:
  description: functions
  licence: MIT
  source: {path: functions.jsonl}
  reader: {format: jsonl, id: id, extra: [prompt, test, entry_point]}
"""
SUMS = "sums.yaml}\n  reader: {format: yaml"
GRADED = (
    "  - {workload: functions, streams: 1, requests: 1, max_tokens: 9, grade: humaneval}\nroles:"
)


@pytest.fixture
def root(tmp_path) -> Path:
    """A repository whose study has prose, sums and functions."""
    write_repository(tmp_path, STUDY.replace("roles:", GRADED))
    data_sets = tmp_path / "config/datasets.yaml"
    text = data_sets.read_text("utf-8").replace(SUMS, f"{SUMS}, id: id, answer: answer")
    data_sets.write_text(text + FUNCTIONS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def spec(root) -> SessionSpec:
    return resolve(root, "tiny").sessions[0].spec


def row(request: int, prompt_id: str, text: str, **other) -> RequestRow:
    base = {
        "phase": "measured", "stream": 0, "category": None, "body": "{}", "prompt_sha256": "0",
        "prompt_hash_of": "messages", "t_enqueue": 0.0, "t_end": 1.0,
    }  # fmt: skip
    return RequestRow(request=request, prompt_id=prompt_id, text=text, **base | other)


def of_workload(spec: SessionSpec, workload: str) -> CellSpec:
    return next(cell for cell in spec.cells if cell.scenario.workload == workload)


def write_requests(spec: SessionSpec, rows: dict[str, list[RequestRow]], path: Path) -> Path:
    """Writes requests.parquet with a row group a cell, as a session does."""
    with pq.ParquetWriter(path, REQUEST_SCHEMA) as writer:
        for workload, group in rows.items():
            cell = of_workload(spec, workload)
            names = {"arm": spec.arm.name, "scenario": cell.scenario.id, "session": "s"}
            table = as_table(group, cell=cell.fingerprint, seed=spec.seed, **names)
            writer.write_table(table)
    return path


ROWS = {
    "essays": [
        row(0, "e0", "An essay.", phase="warmup"),
        row(0, "e1", "An essay of some words."),
        row(1, "e2", "Well.", reasoning="so " * 100),
    ],
    "sums": [
        row(0, "s1", "3 + 5 = 8\n#### 8"),
        row(1, "s0", "It is 8."),
        row(2, "s0", "", error="the stream was closed without usage"),
    ],
    "functions": [
        row(0, "f0", "```python\ndef one():\n    return 1\n```"),
        row(1, "f0", "```python\ndef one():\n    return 2\n```"),
        row(2, "f0", "```python\ndef one():\n    return [][0]\n```"),
        row(3, "f0", "No.", reasoning="def one():\n    return 1"),
    ],
}


def grade(spec: SessionSpec, rows: dict, folder: Path, prompts: dict = PROMPTS) -> Path:
    requests = write_requests(spec, rows, folder / "requests.parquet")
    out = folder / "grades.parquet"
    grade_session(spec, requests, Grader(prompts, Sandbox("namespaces"), at_once=2), out)
    return out


def test_each_measured_answer_gets_the_grade_of_its_scenario(spec, tmp_path):
    grades = pq.read_table(grade(spec, ROWS, tmp_path)).to_pylist()
    fields = ("prompt_id", "request", "grade", "correct", "outcome", "extracted", "degenerate")
    assert [tuple(grade[name] for name in fields) for grade in grades] == [
        ("e1", 0, None, None, None, None, False),
        ("e2", 1, None, None, None, None, True),
        ("s1", 0, "exact-match", True, "marker", "8", False),
        ("s0", 1, "exact-match", False, "last-number", "8", False),
        ("s0", 2, "exact-match", None, None, None, False),
        ("f0", 0, "humaneval", True, "passed", "def one():\n    return 1\n", False),
        ("f0", 1, "humaneval", False, "wrong", "def one():\n    return 2\n", False),
        ("f0", 2, "humaneval", False, "error:IndexError", "def one():\n    return [][0]\n", False),
        ("f0", 3, "humaneval", False, "no-code", None, False),
    ]
    cells = Counter(grade["cell"] for grade in grades)
    assert cells == {
        of_workload(spec, name).fingerprint: count
        for name, count in (("essays", 2), ("sums", 3), ("functions", 4))
    }


def test_the_same_answers_give_the_same_bytes(spec, tmp_path):
    first = grade(spec, ROWS, tmp_path).read_bytes()
    assert grade(spec, ROWS, tmp_path).read_bytes() == first


def test_the_columns_explain_themselves(spec, tmp_path):
    schema = pq.read_schema(grade(spec, ROWS, tmp_path))
    assert schema.equals(GRADE_SCHEMA, check_metadata=True)
    assert all(field.metadata[b"description"] for field in schema)


def test_a_prompt_that_is_no_longer_there_is_refused(spec, tmp_path):
    with pytest.raises(SpecdockError, match="the prompt s9 was measured, but the workload sums"):
        grade(spec, {"sums": [row(0, "s9", "7")]}, tmp_path)


@pytest.mark.parametrize(
    ("workload", "prompt", "found"),
    [("sums", Prompt("p", []), "no answer"), ("functions", Prompt("p", []), "no extra: prompt")],
)
def test_a_data_set_without_what_the_grade_needs_is_refused(
    spec, tmp_path, workload, prompt, found
):
    with pytest.raises(SpecdockError, match=rf"{workload}.reader\n  found    {found}"):
        grade(spec, {workload: [row(0, "p", "7")]}, tmp_path, {workload: {"p": prompt}})


def run_script(root: Path, spec: SessionSpec, *before: str) -> subprocess.CompletedProcess:
    """scripts/grade.py on one answer of each data set, both of them local files."""
    files = {
        "sums.yaml": json.dumps([{"id": "s0", "prompt": "3 + 4?", "answer": "7"}]),
        "functions.jsonl": json.dumps(PROBLEM | {"id": "f0"}),
        "spec.json": spec.model_dump_json(),
    }
    for name, text in files.items():
        (root / name).write_text(text + "\n", encoding="utf-8")
    pins = root / "results/pins"
    pins.mkdir(parents=True)
    for name in ("sums", "functions"):
        entry = load_data_sets(root)[name]
        lock = make_lock(name, entry, root).model_dump_json(exclude_none=True)
        (pins / f"{pin_of(name, entry)}.lock.json").write_text(lock, encoding="utf-8")
    rows = {name: ROWS[name] for name in ("essays", "functions")}
    rows["sums"] = [row(0, "s0", "#### 7")]
    write_requests(spec, rows, root / "requests.parquet")
    command = [
        *before, sys.executable, str(ROOT / "scripts/grade.py"), "--spec", "spec.json",
        "--requests", "requests.parquet", "--at-once", "2", "--out", "grades.parquet",
    ]  # fmt: skip
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


def test_the_script_grades_with_the_data_sets_of_the_spec(root, spec):
    done = run_script(root, spec)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    grades = pq.read_table(root / "grades.parquet").to_pylist()
    assert [grade["correct"] for grade in grades] == [None, None, True, False, False, False, True]


def test_without_a_sandbox_the_script_refuses_and_writes_nothing(root, spec):
    done = run_script(root, spec, *REFUSING)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("answers that are programs are graded in a sandbox only")
    assert "Traceback" not in done.stderr
    assert not (root / "grades.parquet").exists()
