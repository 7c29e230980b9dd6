"""Engines refuse what they cannot serve, before anything is loaded, and say why."""

import pytest

from specdock.checks.arm import ArmRefused, check_arm
from specdock.environments.fingerprint import environment_fingerprint
from specdock.plan.models import ContainerEnvironment
from specdock.plan.spec import ArmSpec
from tests.engines.arms import ENGINES, ROOT, arm
from tests.workflow.clone import clone, planned_jobs


def built(engine: str) -> pytest.MarkDecorator:
    """Only where the engine's environment of several GB is here already."""
    fingerprint = environment_fingerprint(ENGINES[engine].environment, ROOT)
    here = (ROOT / f".envs/{engine}.{fingerprint}/bin/python").exists()
    return pytest.mark.skipif(not here, reason=f"the environment of {engine} is not built here")


def speculating(engine: str, flags: dict | None = None) -> ArmSpec:
    speculation = {"method": "draft_model", "draft_tokens": 4}
    serve = {"request_slots": 4, "context_tokens": 4096, "flags": flags or {}}
    return arm(engine, speculation, serve)


JUDGES = [
    pytest.param("llama-cpp-0.10068.0"),
    pytest.param("vllm-0.32.0-cpu", marks=built("vllm-0.32.0-cpu")),
    pytest.param("sglang-0.5.23", marks=built("sglang-0.5.23")),
]


@pytest.mark.parametrize("engine", JUDGES)
def test_an_arm_that_its_engine_takes_is_reported_with_what_stays_unchecked(engine):
    report = check_arm(speculating(engine), ROOT)
    assert report["checked"] and report["unchecked"]  # these weights are nowhere
    assert not any("/tmp" in word for word in report["arguments"])


@pytest.mark.parametrize(
    ("engine", "flags", "words"),
    [
        pytest.param("llama-cpp-0.10068.0", {"--no-such-flag": 3}, "--no-such-flag"),
        pytest.param("llama-cpp-0.10068.0", {"--spec-type": "draft-smple"}, "draft-smple"),
        pytest.param(
            "vllm-0.32.0-cpu",
            {"--speculative-config": '{"method": "ngrm", "num_speculative_tokens": 4, "topk": 2}'},
            "(?s)method = ngrm.*topk is no key",
            marks=built("vllm-0.32.0-cpu"),
        ),
        pytest.param(
            "sglang-0.5.23",
            {"--speculative-algorithm": "DFLESH"},
            "DFLESH",
            marks=built("sglang-0.5.23"),
        ),
    ],
)
def test_what_the_engine_does_not_have_is_refused_by_the_engine(engine, flags, words):
    with pytest.raises(ArmRefused, match=words):
        check_arm(speculating(engine, flags), ROOT)


def test_an_image_is_not_asked_and_the_report_says_what_was_not():
    speculating = arm("sglang-0.5.23", {"method": "dflash2", "draft_tokens": 7})
    image = f"some/sglang@sha256:{'ab' * 32}"
    environment = ContainerEnvironment(kind="container", image=image)
    engine = speculating.engine.model_copy(update={"environment": environment})
    report = check_arm(speculating.model_copy(update={"engine": engine}), ROOT)
    assert report["checked"] == []
    said = "\n".join(report["unchecked"])
    assert image in said and "--speculative-num-draft-tokens" in said and "dflash2" in said
    assert "--speculative-num-draft-tokens" in report["arguments"]


def test_the_target_check_judges_every_arm_of_the_study(tmp_path):
    jobs = planned_jobs(clone(tmp_path), "check")
    assert jobs["check_arm"] > 1
    assert not jobs.keys() & {"measure", "fetch", "pin"}
