"""The studies under config/studies: they resolve, and account for what was published of them."""

from pathlib import Path
from statistics import mean

import pytest

from specdock.plan.matrix import known_times, short_pins
from specdock.plan.resolve import resolve
from specdock.published.ledger import load_ledger
from specdock.workloads.prompts import Prompt, select
from tests.workflow.clone import clone, edit, planned_jobs

ROOT = Path(__file__).parents[2]
STUDIES = sorted(path.stem for path in (ROOT / "config/studies").glob("*.yaml"))
PUBLISHED = ["one-card", "drafters-on-sglang", "flash-next", "nvfp4-or-fp8"]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_resolves(name):
    assert resolve(ROOT, name).sessions


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_arm_and_scenario_is_run_or_says_why_not(name):
    plan = resolve(ROOT, name)
    ledger = load_ledger(ROOT, plan.study.published)
    figures = [figure for figure in ledger.figures if figure.kind == "measured_there"]
    given = {slug for f in figures for slug in (f.arm, f.scenario, f.baseline) if slug}
    run = plan.arms.keys() | plan.scenarios.keys() | plan.study.stands_for.keys()
    assert given - run - plan.study.unmapped.keys() == set()


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_reason_is_given_for_what_is_not_published_or_is_run(name):
    plan = resolve(ROOT, name)
    ledger = load_ledger(ROOT, plan.study.published)
    assert plan.study.unmapped.keys() <= ledger.arms.keys() | ledger.scenarios.keys()
    # An arm may be run and still not as published, which its reason then says.
    assert not plan.study.unmapped.keys() & plan.scenarios.keys()


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_done_otherwise_is_published_and_run(name):
    plan = resolve(ROOT, name)
    ledger, study = load_ledger(ROOT, plan.study.published), plan.study
    named = study.differs.keys() | study.stands_for.keys()
    assert named <= ledger.arms.keys() | ledger.scenarios.keys()
    assert not named & study.unmapped.keys()
    run = plan.arms.keys() | plan.scenarios.keys() | study.stands_for.keys()
    assert study.differs.keys() <= run


def test_the_embedded_tool_calls_are_asked_by_bfcl_in_its_own_environment():
    plan = resolve(ROOT, "tool-calls")
    [scenario] = plan.scenarios.values()
    assert scenario.bfcl.handler == "Qwen/Qwen3-32B-FC" and scenario.warmups == 0
    assert f"bfcl-2026.3.23.{scenario.bfcl.environment}" in plan.environments


def test_published_cells_of_one_card_are_cells_of_the_study():
    plan = resolve(ROOT, "one-card")
    cells = {(s.spec.arm.name, c.scenario.id) for s in plan.sessions for c in s.spec.cells}
    skipped, ours = plan.study.unmapped.keys(), plan.study.stands_for
    published = {
        (figure.arm, ours.get(figure.scenario, figure.scenario))
        for figure in load_ledger(ROOT, "one-card").figures
        if figure.kind == "measured_there" and figure.arm and figure.scenario
        if not {figure.arm, figure.scenario} & skipped
    }
    assert len(published) > 40
    assert published - cells == set()


def test_short_commits_are_listed_until_a_lock_states_them_in_full(tmp_path):
    plan = resolve(ROOT, "one-card")
    lines = short_pins(tmp_path, plan)
    assert len(lines) == 2
    assert any("unsloth/Qwen3.8-27B-NVFP4@16b6615a" in line for line in lines)
    pin = next(pin for pin in plan.pins if pin.startswith("qwen3.8-27b-nvfp4."))
    (tmp_path / "results/pins").mkdir(parents=True)
    (tmp_path / f"results/pins/{pin}.lock.json").touch()
    assert len(short_pins(tmp_path, plan)) == 1


def test_an_estimate_uses_published_rates_and_their_mean_elsewhere():
    rate = known_times(ROOT, resolve(ROOT, "one-card")).rate
    assert rate["dflash2-fp8-served", "humaneval-32@1"] == 303.3
    assert 61.2 < rate["mtp-matched", "humaneval-32@1"] < 303.3
    assert ("mtp-matched", "prefill-20k@1") not in rate


def test_an_estimate_of_tool_calls_uses_published_seconds_a_call():
    latency = known_times(ROOT, resolve(ROOT, "drafters-on-sglang")).latency
    scenario = "bfcl-205-bfcl-default@4"
    assert latency["dflash2-8", scenario] == 0.91
    assert latency["mtp-7", scenario] == pytest.approx((0.91 + 2.53 + 3.24) / 3)


def test_an_estimate_takes_the_time_of_a_token_where_no_rate_is_published():
    token = known_times(ROOT, resolve(ROOT, "drafters-on-sglang")).token
    assert token["no-drafter"] == pytest.approx((0.0138 + 0.0165) / 2)
    assert token["dspark"] == pytest.approx(mean(set(token.values()) - {token["dspark"]}))
    assert known_times(ROOT, resolve(ROOT, "one-card")).token["plain-vllm-0.27.1"] < 1 / 60


def test_the_first_200_problems_are_measured_and_later_ones_warm_up():
    scenario = resolve(ROOT, "one-card").scenarios["gsm8k-first-200@8"]
    prompts = [Prompt(str(place), []) for place in range(1319)]
    chosen = [p.prompt_id for p in select(prompts, 1, scenario.requests, scenario.warmups)]
    assert scenario.data_set.source.repository == "openai/gsm8k"
    assert sorted(chosen[:200], key=int) == [str(place) for place in range(200)]
    assert chosen[200:] == [str(place) for place in range(200, 208)]


def test_a_new_arm_is_one_new_job_a_seed(tmp_path):
    root = clone(tmp_path)
    arguments = ("article", "--config", "study=nvfp4-or-fp8")
    before = planned_jobs(root, *arguments)
    block = """  fp8-dflash2-4:
    extends: fp8-dflash2-8
    note: the target in FP8, four tokens verified
    speculation:
      draft_tokens: 3

roles:"""
    edit(root, "config/studies/nvfp4-or-fp8.yaml", "roles:", block)
    after = planned_jobs(root, *arguments)
    seeds = len(resolve(root, "nvfp4-or-fp8").study.seeds)
    assert after["measure"] - before["measure"] == seeds
    assert after["pin"] == before["pin"]
