"""What Snakemake would run after an edit: exactly what must, in a clone that has no memory."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from specdock.plan.files import Files
from specdock.plan.resolve import resolve
from specdock.plan.spec import DRIFT_CONTROL
from tests.workflow.clone import ROOT, STUDY, clone, edit, planned_jobs, pretend_measured

DEMO = "config/studies/demo.yaml"


@pytest.fixture
def measured(tmp_path):
    root = clone(tmp_path)
    pretend_measured(root)
    return root


def test_a_bare_clone_measures_every_arm_and_seed(tmp_path):
    jobs = planned_jobs(clone(tmp_path), "article")
    assert jobs["measure"] == jobs["resolve"] == jobs["grade"]
    assert jobs["measure"] > 1


def test_a_clone_with_committed_results_measures_nothing(measured):
    jobs = planned_jobs(measured, "article")
    assert not jobs.keys() & {"measure", "resolve", "pin", "fetch", "environment_marker"}


MEASURE = """
import sys
from pathlib import Path
out = Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(parents=True, exist_ok=True)
for name in ("manifest.json", "requests.parquet", "metrics.parquet", "power.parquet", "server.log"):
    (out / name).write_text("")
with open("order.txt", "a") as file:
    print(out.as_posix(), file=file)
"""


def test_sessions_run_in_the_order_of_the_campaign_and_the_drift_control_last(tmp_path):
    root = clone(tmp_path)
    pretend_measured(root)
    for folder in ("raw", "specs"):
        shutil.rmtree(root / "results" / STUDY / folder)
    (root / "scripts/measure.py").write_text(MEASURE)
    plan = resolve(root, STUDY)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *Files(plan, root).manifests]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    measured = [Path(line).parts[-3] for line in (root / "order.txt").read_text().splitlines()]
    assert measured == [session.spec.arm.name for session in plan.sessions]
    assert measured[-1] == DRIFT_CONTROL


def test_a_new_arm_is_the_only_one_measured(measured):
    edit(measured, DEMO, "roles:", "  one-more:\n    extends: ngram\n    note: more\n\nroles:")
    jobs = planned_jobs(measured, "article")
    seeds = len(resolve(measured, "demo").study.seeds)
    assert jobs["measure"] == jobs["resolve"] == jobs["grade"] == seeds
    assert jobs["tables"] == jobs["claims"] == 1
    assert not jobs.keys() & {"pin", "fetch", "environment_marker"}


def test_a_changed_lock_measures_that_engine_only(measured):
    edit(measured, "envs/vllm-0.27.1-cpu.lock", "--hash", "--hash=sha256:0 --hash")
    jobs = planned_jobs(measured, "article")
    assert jobs["environment_marker"] == 1
    assert 0 < jobs["measure"] < planned_jobs(measured, "article", "--forceall")["measure"]


def test_a_reverted_edit_uses_the_old_results(measured):
    edit(measured, DEMO, "draft_tokens: 5", "draft_tokens: 6")
    assert planned_jobs(measured, "article")["measure"] > 0
    edit(measured, DEMO, "draft_tokens: 6", "draft_tokens: 5")
    assert "measure" not in planned_jobs(measured, "article")


def test_an_edit_of_a_template_renders_and_does_no_more(measured):
    planned = planned_jobs(measured, "article")
    edit(measured, "article/article.md.j2", "\n", "\n\n")
    assert "measure" not in planned_jobs(measured, "article")
    assert planned_jobs(measured, "article").keys() == planned.keys()


def test_a_changed_grade_grades_anew_and_measures_nothing(measured):
    edit(measured, DEMO, "thinking: false}", "thinking: false, grade: exact-match}")
    jobs = planned_jobs(measured, "article")
    sessions = resolve(measured, STUDY).sessions
    assert jobs["grade"] == len(sessions) and jobs["tables"] == 1
    assert "measure" not in jobs


def test_a_lost_manifest_is_noticed(measured):
    lost = next((measured / "results/demo/raw").glob("*/*/*/manifest.json"))
    lost.unlink()
    assert planned_jobs(measured, "article")["measure"] == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("engine: vllm-0.32.0-cpu", "engine: vllm-0.32-cpu", "did you mean vllm-0.32.0-cpu?"),
        ("seeds: [", "seeds: [1, ", "seeds are given twice"),
    ],
)
def test_a_mistake_in_config_ends_before_the_graph(measured, old, new, words):
    edit(measured, DEMO, old, new)
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "1", "article"]
    done = subprocess.run(command, cwd=measured, capture_output=True, text=True)
    assert done.returncode != 0
    assert "config/studies/demo.yaml" in done.stderr + done.stdout
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("copied", [("raw", "specs", "grades"), ("raw", "grades")])
def test_an_archived_study_measures_nothing_whatever_config_says_now(tmp_path, copied):
    root = clone(tmp_path)
    for kept in copied:
        shutil.copytree(ROOT / "results/two-cores" / kept, root / "results/two-cores" / kept)
    edit(root, "config/engines.yaml", "--seed: 0", "--seed: 1")
    jobs = planned_jobs(root, "article", "--config", "study=two-cores")
    assert jobs["render"] == 1
    assert not jobs.keys() & {"measure", "pin", "fetch", "environment_marker"}
