"""Measures one cell with BFCL's own client: its prompts, its loop over turns, a row a case.

BFCL (the Berkeley Function Calling Leaderboard) renders its prompts itself, sends them to
/v1/completions and, in multi-turn cases, runs the called functions of its simulated APIs between
two requests. It writes a failed request down as an answer, "Error during inference"; here a cell
with one fails.
"""

import hashlib
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specdock.engines.contract import SERVED_NAME
from specdock.grades.view import confined, interpreter_parts
from specdock.plan.fingerprint import canonical
from specdock.runs.client import CellFailed, CellMeasurement
from specdock.runs.requests import RequestRow
from specdock.runs.server import die_with_parent
from specdock.workloads.prompts import Prompt

INSIDE = Path(__file__).parent / "inside/bfcl_cli.py"


@dataclass(frozen=True)
class BfclPlan:
    """How BFCL measures a cell: its interpreter, the handler that renders prompts, the target's
    folder for the tokenizer, the cases, threads, temperature, and a project root of its own."""

    python: Path
    handler: str
    target: Path
    cases: list[Prompt]
    streams: int
    temperature: float
    project: Path


def measure_bfcl(
    base_url: str,
    plan: BfclPlan,
    on_progress: Callable[[int, int], None],
    on_window: Callable[[str], None],
) -> CellMeasurement:
    """Runs the cases against a server; `on_progress` and `on_window` as in `measure_cell`.

    The window reaches from the first request sent to the end of the last case. Raises `CellFailed`
    if a request failed or a case has no result.
    """
    _lay_out(plan)
    on_window("before")
    on_progress(0, 0)
    started = time.time() - time.monotonic()
    log = plan.project / "generate.log"
    with log.open("wb") as file:
        done = subprocess.run(
            _command(plan),
            cwd=plan.project,
            env=_variables(base_url, plan),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
        )
    results = list(_results(plan.project))
    rows = _rows(plan.cases, results)
    _check(plan, rows, done.returncode, log)
    on_progress(len(rows), sum(row.completion_tokens for row in rows))
    on_window("after")
    opened = min(call["t_send"] for result in results for call in result["calls"])
    cpu = [moment for result in results for moment in result["cpu"]]
    return CellMeasurement(
        rows=rows,
        window_start=started + opened,
        wall=max(row.t_end for row in rows),
        client_cpu=max(cpu) - min(cpu),
        loop_lag=None,
    )


def _lay_out(plan: BfclPlan) -> None:
    """The project root: the wanted ids, and the target under the name that the engine serves."""
    plan.project.mkdir(parents=True)
    ids = defaultdict(list)
    for case in plan.cases:
        ids[case.category].append(case.prompt_id)
    wanted = plan.project / "test_case_ids_to_generate.json"
    wanted.write_text(json.dumps(ids, indent=1), encoding="utf-8")
    (plan.project / SERVED_NAME).symlink_to(plan.target.resolve(), target_is_directory=True)


def _command(plan: BfclPlan) -> list[str]:
    readable = [*interpreter_parts(plan.python), plan.target.resolve(), INSIDE.parent]
    return [
        # The engine is on this machine's loopback.
        *confined(readable, plan.project, network=True),
        *(str(plan.python.absolute()), str(INSIDE.absolute()), "generate", "--run-ids"),
        *("--model", plan.handler, "--skip-server-setup", "--local-model-path", SERVED_NAME),
        *("--num-threads", str(plan.streams), "--temperature", str(plan.temperature)),
    ]


def _variables(base_url: str, plan: BfclPlan) -> dict[str, str]:
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
    own = dict.fromkeys(("BFCL_PROJECT_ROOT", "HOME"), str(plan.project.resolve()))
    own["PATH"] = "/usr/bin:/bin"
    return offline | direct | own | {"REMOTE_OPENAI_BASE_URL": f"{base_url}/v1"}


def _results(project: Path) -> Iterator[dict]:
    for path in sorted(project.glob("result/**/*_result.json")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def _rows(cases: list[Prompt], results: list[dict]) -> list[RequestRow]:
    categories = {case.prompt_id: case.category for case in cases}
    sent = sorted((r for r in results if r["calls"]), key=lambda r: r["calls"][0]["t_send"])
    zero = sent[0]["calls"][0]["t_send"] if sent else 0.0
    return [_row(order, result, categories, zero) for order, result in enumerate(sent)]


def _row(order: int, result: dict, categories: dict[str, str], zero: float) -> RequestRow:
    """A case as a row: its requests in `body`, its result in `text`, tokens summed over them."""
    calls = [
        call | {moment: call[moment] - zero for moment in ("t_send", "t_end")}
        for call in result["calls"]
    ]
    usage = [call["usage"] for call in calls if "usage" in call]
    # An exception over an answered request is the answer's fault, which BFCL's grader judges.
    failed = "traceback" in result and not all("usage" in call for call in calls)
    return RequestRow(
        phase="measured",
        request=order,
        stream=None,
        prompt_id=result["id"],
        category=categories.get(result["id"]),
        body=canonical(calls),
        prompt_sha256=hashlib.sha256(calls[0]["body"]["prompt"].encode()).hexdigest(),
        prompt_hash_of="first_prompt",
        t_enqueue=calls[0]["t_send"],
        t_send=calls[0]["t_send"],
        t_end=calls[-1]["t_end"],
        text=canonical(result["result"]),
        reasoning=_text(result.get("reasoning_content")),
        finish_reason=calls[-1].get("finish_reason"),
        prompt_tokens=sum(told["prompt_tokens"] for told in usage),
        completion_tokens=sum(told["completion_tokens"] for told in usage),
        error=str(result["result"])[:500] if failed else None,
    )


def _text(reasoning: object) -> str:
    return reasoning if isinstance(reasoning, str) else canonical(reasoning) if reasoning else ""


def _check(plan: BfclPlan, rows: list[RequestRow], code: int, log: Path) -> None:
    failed = [row for row in rows if row.error]
    lost = {case.prompt_id for case in plan.cases} - {row.prompt_id for row in rows}
    if not (failed or lost or code):
        return
    about = {
        f"BFCL ended with exit code {code}": code,
        f"{len(failed)} of {len(plan.cases)} cases failed": failed,
        f"{len(lost)} cases have no answer, such as {min(lost, default='')}": lost,
    }
    what = "; ".join(text for text, applies in about.items() if applies)
    said = f"; the first: {failed[0].error}" if failed else ""
    tail = "\n".join(f"    {line}" for line in log.read_text("utf-8", "replace").splitlines()[-8:])
    raise CellFailed(f"{what}{said}; the end of {log}:\n{tail}", rows)
