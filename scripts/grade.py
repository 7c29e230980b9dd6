"""Grades the answers of one session: the job behind the rule `grade`."""

import argparse
import asyncio
from pathlib import Path

from specdock.environments.build import build
from specdock.errors import told
from specdock.grades.grade import Grader, grade_session
from specdock.grades.sandbox import probe
from specdock.pins.fetch import ensure_fetched
from specdock.plan.spec import SessionSpec
from specdock.workloads.prompts import read_prompts


def main() -> None:
    """Reads the spec, the requests and the data sets that are graded; writes the grades."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="resolved session spec")
    parser.add_argument("--requests", type=Path, required=True, help="requests.parquet")
    parser.add_argument("--at-once", type=int, required=True, help="programs run at a time")
    parser.add_argument("--out", type=Path, required=True, help="grades, as Parquet")
    arguments = parser.parse_args()
    spec = SessionSpec.model_validate_json(arguments.spec.read_text(encoding="utf-8"))
    graded = [cell.scenario for cell in spec.cells if cell.scenario.grade]
    with told():
        prompts = {}
        for workload, data_set in {s.workload: s.data_set for s in graded}.items():
            folder = ensure_fetched(workload, data_set, Path.cwd())
            rows = read_prompts(workload, data_set, folder)
            prompts[workload] = {prompt.prompt_id: prompt for prompt in rows}
        programs = any(scenario.grade == "humaneval" for scenario in graded)
        sandbox = asyncio.run(probe()) if programs else None
        bfcl = {
            scenario.workload: build(client.name, client.environment, Path.cwd()).python
            for scenario in graded
            if (client := scenario.data_set.bfcl)
        }
        grader = Grader(prompts, sandbox, arguments.at_once, bfcl)
        grade_session(spec, arguments.requests, grader, arguments.out)


if __name__ == "__main__":
    main()
