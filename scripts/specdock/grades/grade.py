"""Grades the measured answers of a session: right or wrong by the scenario's grade, loop or not."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specdock.columns import column
from specdock.errors import SpecdockError
from specdock.grades.bfcl import grade_bfcl
from specdock.grades.code import grade_code
from specdock.grades.degeneration import compression, is_loop, repeated_share, words
from specdock.grades.exact_match import exact_match
from specdock.grades.sandbox import Sandbox
from specdock.grades.verdict import Verdict
from specdock.plan.spec import ScenarioSpec, SessionSpec
from specdock.workloads.prompts import Prompt

GRADE_SCHEMA = pa.schema(
    [
        column("cell", pa.string(), "fingerprint of arm, scenario and seed"),
        column("request", pa.int32(), "order of sending within the window, from 0"),
        column("prompt_id", pa.string(), "prompt of the data set"),
        column("grade", pa.string(), "exact-match, humaneval or bfcl; null where not graded"),
        column("correct", pa.bool_(), "right; null where not graded or where the request failed"),
        column(
            "outcome",
            pa.string(),
            "exact-match: the rule that found the number (marker, last-number, no-number); "
            "humaneval: passed, wrong, error:NAME, timeout, memory, syntax, no-code; "
            "bfcl: passed, or BFCL's type of the error",
        ),
        column("extracted", pa.string(), "what of the answer was graded"),
        column("degenerate", pa.bool_(), "the answer, reasoning included, is a repetition loop"),
        column("repeated_share", pa.float64(), "share of its 8-grams of words that repeat one"),
        column("compression", pa.float64(), "its bytes over its bytes compressed by zlib"),
    ]
)

_READ = ["cell", "phase", "request", "prompt_id", "category", "text", "reasoning", "error"]

Cases = dict[tuple[str, str], Verdict]


@dataclass(frozen=True)
class Grader:
    """What grading needs: prompts by workload and id, a sandbox where programs are graded, and
    BFCL's interpreter by workload where BFCL grades.

    `at_once` programs run at a time.
    """

    prompts: Mapping[str, Mapping[str, Prompt]]
    sandbox: Sandbox | None
    at_once: int
    bfcl: Mapping[str, Path] = field(default_factory=dict)

    async def grade(self, rows: list[dict], scenarios: Mapping[str, ScenarioSpec]) -> list[dict]:
        """Rows of `GRADE_SCHEMA` for rows of requests; `scenarios` is by cell."""
        slots = asyncio.Semaphore(self.at_once)
        cases = self._cases(rows, scenarios)

        async def grade_row(row: dict) -> dict:
            scenario = scenarios[row["cell"]]
            async with slots:
                return _grade_row(row, scenario, await self._verdict(row, scenario, cases))

        return await asyncio.gather(*map(grade_row, rows))

    def _cases(self, rows: list[dict], scenarios: Mapping[str, ScenarioSpec]) -> Cases:
        """BFCL's verdicts by cell and case: it grades the cases of a cell together."""
        cases: Cases = {}
        for cell, scenario in scenarios.items():
            own = [row for row in rows if row["cell"] == cell and row["error"] is None]
            if scenario.grade == "bfcl" and own:
                python = self.bfcl[scenario.workload]
                verdicts = grade_bfcl(own, scenario.data_set.bfcl.handler, python)
                cases |= {(cell, case): verdict for case, verdict in verdicts.items()}
        return cases

    async def _verdict(self, row: dict, scenario: ScenarioSpec, cases: Cases) -> Verdict | None:
        if scenario.grade is None or row["error"] is not None:
            return None
        if scenario.grade == "bfcl":
            return cases[row["cell"], row["prompt_id"]]
        prompt = self.prompts[scenario.workload].get(row["prompt_id"])
        if prompt is None:
            raise SpecdockError(
                f"the prompt {row['prompt_id']} was measured, but the workload "
                f"{scenario.workload} has it no more; grade with the data set that was measured"
            )
        if scenario.grade == "exact-match":
            return exact_match(row["text"], _needed(prompt.answer, scenario, "answer"))
        problem = {
            name: _needed(prompt.extra.get(name), scenario, f"extra: {name}")
            for name in ("prompt", "test", "entry_point")
        }
        return await grade_code(row["text"], problem, self.sandbox)


def grade_session(spec: SessionSpec, requests: Path, grader: Grader, out: Path) -> None:
    """Writes a row of `GRADE_SCHEMA` for each measured row of requests.parquet, in its order.

    Raises `SpecdockError` if a prompt lacks what its grade needs, or the sandbox fails.
    """
    scenarios = {cell.fingerprint: cell.scenario for cell in spec.cells}
    file = pq.ParquetFile(requests)
    with pq.ParquetWriter(out, GRADE_SCHEMA, compression="zstd") as writer:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=_READ).to_pylist()
            measured = [row for row in rows if row["phase"] == "measured"]
            grades = asyncio.run(grader.grade(measured, scenarios))
            writer.write_table(pa.Table.from_pylist(grades, GRADE_SCHEMA))


def _needed(value: str | None, scenario: ScenarioSpec, key: str) -> str:
    if value is None:
        raise SpecdockError(
            f"config/datasets.yaml: {scenario.workload}.reader\n"
            f"  found    no {key}\n"
            f"  needed   since scenario {scenario.id} is graded by {scenario.grade}"
        )
    return value


def _grade_row(row: dict, scenario: ScenarioSpec, verdict: Verdict | None) -> dict:
    generated = f"{row['reasoning']}\n{row['text']}".strip()
    share, ratio = repeated_share(words(generated)), compression(generated)
    return {
        "cell": row["cell"],
        "request": row["request"],
        "prompt_id": row["prompt_id"],
        "grade": scenario.grade,
        "correct": verdict and verdict.correct,
        "outcome": verdict and verdict.outcome,
        "extracted": verdict and verdict.extracted,
        "degenerate": is_loop(share, ratio),
        "repeated_share": share,
        "compression": ratio,
    }
