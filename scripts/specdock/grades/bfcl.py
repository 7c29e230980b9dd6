"""Grades BFCL's cases by BFCL's own graders, in its own environment.

In multi-turn cases BFCL evaluates calls that a model wrote, in its own process, while it asks and
again while it grades. So both run confined: they write into a folder of their own alone, and the
graders have no network.
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from specdock.errors import SpecdockError
from specdock.grades.verdict import Verdict
from specdock.grades.view import confined, interpreter_parts

PASSED = "passed"


def grade_bfcl(rows: list[dict], handler: str, python: Path) -> dict[str, Verdict]:
    """A verdict by case for raw rows of one cell (`prompt_id`, `category`, and the result, JSON, in
    `text`).

    The outcome is `passed` or BFCL's type of the error. Raises `SpecdockError` if a case is not
    graded.
    """
    by_category = defaultdict(list)
    for row in rows:
        by_category[row["category"]].append(row)
    with tempfile.TemporaryDirectory() as project:
        folder = Path(project) / "result" / handler.replace("/", "_")
        folder.mkdir(parents=True)
        for category, own in by_category.items():
            lines = [
                json.dumps({"id": row["prompt_id"], "result": json.loads(row["text"])}) + "\n"
                for row in own
            ]
            (folder / f"BFCL_v4_{category}_result.json").write_text("".join(lines), "utf-8")
        said = _evaluate(Path(project), handler, list(by_category), python)
        return {
            case: verdict
            for category, own in by_category.items()
            for case, verdict in _verdicts(Path(project), category, own, said).items()
        }


def _evaluate(project: Path, handler: str, categories: list[str], python: Path) -> str:
    command = confined(interpreter_parts(python), project, network=False)
    command += [str(python.absolute()), "-m", "bfcl_eval", "evaluate", "--model", handler]
    command += ["--test-category", ",".join(categories), "--partial-eval"]
    own = str(project.resolve())
    variables = {"BFCL_PROJECT_ROOT": own, "HOME": own, "HF_HUB_OFFLINE": "1"}
    variables["PATH"] = "/usr/bin:/bin"
    done = subprocess.run(
        command, cwd=project, env=variables, capture_output=True, text=True, errors="replace"
    )
    said = "\n".join(f"    {line}" for line in (done.stdout + done.stderr).splitlines()[-8:])
    if done.returncode:
        raise SpecdockError(f"BFCL's graders ended with exit code {done.returncode}:\n{said}")
    return said


def _verdicts(project: Path, category: str, rows: list[dict], said: str) -> dict[str, Verdict]:
    found = list(project.glob(f"score/**/BFCL_v4_{category}_score.json"))
    lines = found[0].read_text(encoding="utf-8").splitlines() if found else []
    head, *wrong = map(json.loads, lines or ["{}"])
    outcomes = {entry["id"]: _outcome(entry) for entry in wrong}
    counted = {"total_count": len(rows), "correct_count": len(rows) - len(outcomes)}
    if {key: head.get(key) for key in counted} != counted:
        raise SpecdockError(
            f"BFCL graded {head.get('total_count', 0)} of {len(rows)} cases of {category}:\n{said}"
        )
    return {
        case: Verdict(case not in outcomes, outcomes.get(case, PASSED), row["text"])
        for row in rows
        for case in [row["prompt_id"]]
    }


def _outcome(entry: dict) -> str:
    """BFCL's type of an error, which multi-turn entries keep one level lower."""
    return entry.get("error_type") or entry["error"]["error_type"]
