"""The waterfall and what its steps changed."""

import numpy as np
import pytest

from specdock.claims.decomposition import Change, changed_factors, factors, waterfall
from specdock.claims.intervals import Basis, StatisticsError, ratio
from specdock.plan.models import Serve, Speculation
from specdock.plan.spec import ArmSpec

RNG = np.random.default_rng(0)
CHAIN = np.array([140.4, 162.4, 294.7, 295.9])[:, None] * RNG.lognormal(0, 0.01, (4, 3))


def arm(**changes: object) -> dict:
    """A resolved arm, as `ArmSpec.model_dump()` gives it, cut to what the tests change."""
    base = {
        "name": "mtp",
        "engine_name": "vllm-0.27.1",
        "engine": {"version": "0.27.1", "flags": {}},
        "environment": "aaaa",
        "target": {"name": "qwen", "pin": "1111"},
        "drafter": None,
        "speculation": Speculation(method="mtp", draft_tokens=3).model_dump(),
        "serve": Serve(memory_utilization=0.59, request_slots=6).model_dump(),
        "variables": {},
        "note": None,
    }
    return base | changes


def test_the_steps_multiply_to_the_whole_exactly():
    found = waterfall(CHAIN)

    assert np.prod(found.steps.value) == pytest.approx(float(found.total.value), rel=1e-14)
    assert found.share.sum() == pytest.approx(1)


def test_the_published_steps_come_out_as_printed():
    found = waterfall([[140.4], [162.4], [294.7], [295.9]])

    assert [f"{100 * step - 100:+.1f}" for step in found.steps.value] == ["+15.7", "+81.5", "+0.4"]


def test_the_steps_multiply_to_the_whole_with_holes_too():
    holed = CHAIN.copy()
    holed[1, 2] = np.nan

    found = waterfall(holed)

    assert np.prod(found.steps.value) == pytest.approx(float(found.total.value), rel=1e-14)


def test_each_step_has_the_interval_of_its_own_ratio():
    found, expected = waterfall(CHAIN), ratio(CHAIN[2], CHAIN[1])

    assert (found.steps.low[1], found.steps.high[1]) == (expected.low, expected.high)
    assert set(waterfall(CHAIN[:, :1]).steps.basis) == {Basis.NONE}


def test_scenarios_are_decomposed_side_by_side():
    both = np.stack([CHAIN, CHAIN**2], axis=1)
    alone = waterfall(CHAIN).total.value

    assert waterfall(both).total.value == pytest.approx([alone, alone**2])


def test_a_chain_of_one_arm_is_refused():
    with pytest.raises(StatisticsError, match="at least two arms, found 1"):
        waterfall(CHAIN[:1])


def test_a_new_engine_is_one_factor_with_all_that_it_brings():
    newer = arm(
        engine_name="vllm-0.32.0", engine={"version": "0.32.0", "flags": {}}, environment="bbbb"
    )

    assert factors(changed_factors(arm(), newer)) == ("engine",)


def test_memory_and_slots_together_are_two_factors():
    matched = arm(serve=Serve(memory_utilization=0.85, request_slots=32).model_dump())

    changes = changed_factors(arm(), matched)

    assert changes == [
        Change("memory", "serve.memory_utilization", 0.59, 0.85),
        Change("slots", "serve.request_slots", 6, 32),
    ]
    assert factors(changes) == ("memory", "slots")


def test_another_method_is_one_factor_with_its_drafter_and_draft_length():
    dflash = arm(
        drafter={"name": "dflash2", "pin": "2222"},
        speculation=Speculation(method="dflash2", draft_tokens=7, drafter="dflash2").model_dump(),
    )

    assert factors(changed_factors(arm(), dflash)) == ("speculation",)


def test_a_drafter_quantised_as_it_is_loaded_changes_its_precision():
    speculation = Speculation(method="mtp", draft_tokens=3, drafter_quantization="fp8_per_tensor")

    changes = changed_factors(arm(), arm(speculation=speculation.model_dump()))

    assert changes == [
        Change("drafter precision", "speculation.drafter_quantization", None, "fp8_per_tensor")
    ]


@pytest.mark.parametrize("part", ["target", "drafter"])
@pytest.mark.parametrize(
    ("model", "precision", "factor"),
    [("qwen", "NVFP4", "{} precision"), ("qwen", "BF16", "{}"), ("glm", "NVFP4", "{}")],
)
def test_the_same_model_in_another_precision_is_no_other_model(part, model, precision, factor):
    given = {"name": "a", "pin": "1", "checkpoint": {"model": "qwen", "precision": "BF16"}}
    other = {"name": "b", "pin": "2", "checkpoint": {"model": model, "precision": precision}}

    found = factors(changed_factors(arm(**{part: given}), arm(**{part: other})))

    assert found == (factor.format(part),)


def test_checkpoints_whose_model_is_not_stated_are_other_models():
    other = {"name": "b", "pin": "2", "checkpoint": {"model": None, "precision": None}}

    assert factors(changed_factors(arm(), arm(target=other))) == ("target",)


def test_flags_graphs_and_variables_are_told_apart():
    serve = Serve(memory_utilization=0.59, request_slots=6, graphs="piecewise", dtype="bfloat16")
    changed = arm(serve=serve.model_dump(), variables={"VLLM_X": "1"})

    assert factors(changed_factors(arm(), changed)) == ("environment variables", "flags", "graphs")


def test_names_and_notes_are_not_changes():
    assert changed_factors(arm(), arm(name="other", note="new")) == []


def test_every_field_of_a_resolved_arm_belongs_to_a_factor_or_is_a_label():
    named_alike = {"engine", "target", "drafter", "speculation"}
    for field in set(ArmSpec.model_fields) - named_alike:
        found = factors(changed_factors({field: 1}, {field: 2}))
        assert found != (field,), f"ArmSpec.{field} is in no factor of decomposition.py"
