"""The reference's first session again, at the end of the campaign."""

import pytest

from specdock.plan.problems import ConfigError
from specdock.plan.resolve import resolve
from specdock.plan.spec import DRIFT_CONTROL
from tests.plan.repository import write_repository

STUDY = "config/studies/tiny.yaml"


def with_control(tmp_path, text="drift_control: essays@1\n"):
    root = write_repository(tmp_path)
    (root / STUDY).write_text((root / STUDY).read_text() + text)
    return root


def test_it_is_the_last_session_and_has_one_cell_of_the_reference(tmp_path):
    plan = resolve(with_control(tmp_path), "tiny")
    last = max(plan.sessions, key=lambda session: session.spec.order).spec
    reference = next(
        s.spec
        for s in plan.sessions
        if (s.spec.arm.name, s.spec.seed) == (plan.study.roles["reference"], 1)
    )
    assert (last.arm.name, last.seed) == (DRIFT_CONTROL, 1)
    assert [cell.scenario.id for cell in last.cells] == ["essays@1"]
    assert last.arm.model_copy(update={"name": reference.arm.name}) == reference.arm
    assert {c.fingerprint for c in last.cells}.isdisjoint(c.fingerprint for c in reference.cells)


def test_it_leaves_every_other_session_as_it_was(tmp_path):
    before = resolve(write_repository(tmp_path / "a"), "tiny").sessions
    after = resolve(with_control(tmp_path / "b"), "tiny").sessions
    assert [s.key for s in after[:-1]] == [s.key for s in before]


def test_it_is_no_arm_of_the_plan(tmp_path):
    assert DRIFT_CONTROL not in resolve(with_control(tmp_path), "tiny").arms


def test_an_unknown_scenario_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="essays@1"):
        resolve(with_control(tmp_path, "drift_control: essay@1\n"), "tiny")


def test_the_name_is_kept_for_it(tmp_path):
    root = write_repository(tmp_path)
    text = (root / STUDY).read_text().replace("  plain: {}", "  plain: {}\n  drift-control: {}")
    (root / STUDY).write_text(text)
    with pytest.raises(ConfigError, match="another name"):
        resolve(root, "tiny")
