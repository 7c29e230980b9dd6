"""What a change of config changes: exactly the cells that it decides."""

import json
from pathlib import Path

import pytest

from specdock.plan.resolve import resolve
from specdock.plan.schema import study_schema
from tests.plan.repository import STUDY, write_repository

ROOT = Path(__file__).parents[2]


def cells(root: Path) -> dict[tuple[str, str, int], str]:
    plan = resolve(root, "tiny")
    return {
        (session.spec.arm.name, cell.scenario.id, session.spec.seed): cell.fingerprint
        for session in plan.sessions
        for cell in session.spec.cells
    }


def changed(tmp_path: Path, file: str, old: str, new: str) -> set[tuple[str, str, int]]:
    """Cells that are new or different after an edit of one file."""
    root = write_repository(tmp_path)
    before = cells(root)
    text = (root / file).read_text()
    assert old in text
    (root / file).write_text(text.replace(old, new))
    after = cells(root)
    return {key for key, value in after.items() if before.get(key) != value}


def test_the_matrix_is_arms_by_scenarios_by_seeds(tmp_path):
    assert len(cells(write_repository(tmp_path))) == 3 * 3 * 2


@pytest.mark.parametrize(
    ("file", "old", "new", "arms", "scenarios"),
    [
        ("config/studies/tiny.yaml", "  plain: {}", "  plain: {}\n  more: {engine: old}",
         {"more"}, None),
        ("config/studies/tiny.yaml", "streams: [1, 4]", "streams: [1, 2, 4]", None, {"essays@2"}),
        ("config/studies/tiny.yaml", "draft_tokens: 5", "draft_tokens: 6", {"ngram", "ngram-old"},
         None),
        ("envs/old.lock", "1.0", "1.1", {"ngram-old"}, None),
        ("config/models.yaml", "1" * 40, "3" * 40, {"plain", "ngram", "ngram-old"}, None),
        ("config/models.yaml", "2" * 40, "3" * 40, set(), None),
        ("config/models.yaml", "licence: MIT", "licence: MIT\n  model: Big\n  precision: FP8",
         set(), None),
        ("scripts/specdock/runs/client.py", "WAIT = 1", "WAIT = 2", None, None),
        ("scripts/specdock/runs/client.py", "WAIT = 1", "# why\nWAIT = 1", set(), None),
        ("config/studies/tiny.yaml", "title: A title", "title: Another", set(), None),
        ("config/studies/tiny.yaml", "grade: exact-match", "grade: exact-match, floor: 0.5", set(),
         None),
    ],
)  # fmt: skip
def test_an_edit_changes_exactly_the_cells_it_decides(tmp_path, file, old, new, arms, scenarios):
    touched = changed(tmp_path, file, old, new)
    every = cells(tmp_path)
    wanted = {
        key
        for key in every
        if (arms is None or key[0] in arms) and (scenarios is None or key[1] in scenarios)
    }
    assert touched == wanted


def test_two_like_arms_have_cells_of_their_own(tmp_path):
    study = STUDY.replace("  plain: {}", "  plain: {}\n  plain-again: {}")
    found = cells(write_repository(tmp_path, study))
    assert len(set(found.values())) == len(found) == 4 * 3 * 2


def test_a_new_seed_adds_cells_and_changes_none(tmp_path):
    touched = changed(tmp_path, "config/studies/tiny.yaml", "seeds: [1, 2]", "seeds: [1, 2, 3]")
    assert {seed for _, _, seed in touched} == {3}


def test_sweeps_become_arms_that_carry_the_swept_values(tmp_path):
    study = STUDY.replace(
        "  ngram-old:\n    extends: ngram\n",
        "  ngram-old:\n    extends: ngram\n    sweep: {speculation.draft_tokens: [2, 3]}\n",
    )
    plan = resolve(write_repository(tmp_path, study), "tiny")
    assert plan.arms["ngram-old-draft-tokens-2"].speculation.draft_tokens == 2
    assert plan.arms["ngram-old-draft-tokens-3"].speculation.draft_tokens == 3
    assert "ngram-old" not in plan.arms


def test_a_study_may_extend_another_and_change_a_part(tmp_path):
    root = write_repository(tmp_path)
    other = root / "config/studies/other.yaml"
    other.write_text("extends: tiny\nseeds: [7]\narms: {ngram-old: null}\n")
    plan = resolve(root, "other")
    assert set(plan.arms) == {"plain", "ngram"}
    assert {session.spec.seed for session in plan.sessions} == {7}


def test_every_seed_runs_all_arms_in_an_order_of_its_own(tmp_path):
    plan = resolve(write_repository(tmp_path), "tiny")
    order = [(session.spec.seed, session.spec.arm.name) for session in plan.sessions]
    assert [seed for seed, _ in order] == [1, 1, 1, 2, 2, 2]
    assert [s.spec.order for s in plan.sessions] == list(range(6))


def test_the_editor_schema_is_in_step_with_the_models():
    written = json.loads((ROOT / "config/schema.json").read_text())
    assert written == study_schema(), "run: python scripts/schema.py"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config/studies").glob("*.yaml")), ids=lambda p: p.stem
)
def test_every_study_of_this_repository_resolves(path):
    assert resolve(ROOT, path.stem).sessions


def test_an_archive_may_be_a_copy_of_what_another_study_measured(tmp_path):
    root = write_repository(tmp_path)
    measured = resolve(root, "tiny").sessions
    for session in measured:
        arm, seed, fp = session.key
        pack = root / f"results/kept/raw/{arm}/seed-{seed}/{fp}"
        pack.mkdir(parents=True)
        (pack / "manifest.json").write_text(json.dumps({"spec": session.spec.model_dump()}))
    text = (root / "config/studies/tiny.yaml").read_text()
    (root / "config/studies/kept.yaml").write_text(f"{text}\narchived: true\n")
    kept = resolve(root, "kept").sessions
    assert [session.key for session in kept] == [session.key for session in measured]
    assert {session.spec.study for session in kept} == {"kept"}


def test_an_archived_study_speaks_only_of_arms_that_were_measured(tmp_path):
    gates = [
        f"{{arm: {arm}, against: {against}, metric: output_rate, scenario: essays@1, at_least: 0}}"
        for arm, against in [("ngram", "plain"), ("plain", "ngram"), ("ngram-old", "plain")]
    ]
    more = f"chain: [plain, ngram, ngram-old]\ngates: [{', '.join(gates)}]\n"
    root = write_repository(tmp_path, STUDY + more)
    for session in resolve(root, "tiny").sessions:
        arm, seed, fp = session.key
        if arm != "ngram":
            pack = root / f"results/tiny/raw/{arm}/seed-{seed}/{fp}"
            pack.mkdir(parents=True)
            (pack / "manifest.json").write_text(json.dumps({"spec": session.spec.model_dump()}))
    study = root / "config/studies/tiny.yaml"
    study.write_text(f"{study.read_text()}\narchived: true\n")
    plan = resolve(root, "tiny")
    assert set(plan.arms) == {"plain", "ngram-old"}
    assert plan.study.roles == {"reference": "plain"}
    assert plan.study.chain == ["plain", "ngram-old"]
    assert [(gate.arm, gate.against) for gate in plan.study.gates] == [("ngram-old", "plain")]
