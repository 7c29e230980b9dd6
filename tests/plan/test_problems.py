"""Bad config is answered once, with everything that is wrong and what would be right."""

import re

import pytest

from specdock.plan.files import Files
from specdock.plan.problems import ConfigError
from specdock.plan.resolve import resolve
from tests.plan.repository import MODELS, STUDY, write_repository


def refused(tmp_path, study: str) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(write_repository(tmp_path, study), "tiny")
    return str(caught.value)


def change(old: str, new: str) -> str:
    assert old in STUDY
    return STUDY.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "path", "found", "wanted"),
    [
        ("engine: new", "engine: knew", "arms.plain.engine", "knew", "did you mean new?"),
        ("target: big", "target: bit", "arms.plain.target", "bit", "did you mean big?"),
        ("method: ngram", "method: ngrm", "arms.ngram.speculation.method", "ngrm", "ngram"),
        (
            "request_slots: 8",
            "request_slot: 8",
            "arms.plain.serve.request_slot",
            "",
            "request_slots",
        ),
        ("seeds: [1, 2]", "seeds: [1, 1]", "", "", "seeds are given twice: 1"),
        ("seeds: [1, 2]", "sedes: [1, 2]", "sedes", "sedes", "did you mean seeds?"),
        (
            "extends: ngram",
            "extends: ngram-old",
            "arms.ngram-old.extends",
            "ngram-old",
            "no circle",
        ),
        (
            "extends: ngram",
            "extends: nrgam",
            "arms.ngram-old.extends",
            "nrgam",
            "did you mean ngram",
        ),
        (
            "grade: exact-match",
            "grade: bfcl",
            "scenarios.1.grade",
            "bfcl",
            "sums lists no cases of BFCL",
        ),
        (
            "roles: {reference",
            "stands_for: {essay@1: essays@2}\nroles: {reference",
            "stands_for.essay@1",
            "essays@2",
            "did you mean essays@",
        ),
        ("workload: sums", "workload: sum", "scenarios.1.workload", "sum", "did you mean sums?"),
        (
            "max_tokens: 32}",
            "max_tokens: 32, prompt_tokens: 512}",
            "scenarios.0.prompt_tokens",
            "essays is no prose",
            "only prose is cut",
        ),
        (
            "workload: sums",
            "workload: novel",
            "scenarios.1.prompt_tokens",
            "novel is prose",
            "a length to cut the prose to",
        ),
        ("candidate: ngram", "candidate: gram", "roles.candidate", "gram", "did you mean ngram"),
        ("candidate: ngram", "winner: ngram", "roles.winner", "winner", "candidate"),
        (
            "draft_tokens: 5",
            "draft_tokens: 5, schedule: {1-4: 2}",
            "speculation.schedule",
            "",
            "new",
        ),
        (
            "requests: 4",
            "requests: 4, warmup_tokens: 4096",
            "scenarios.0.warmup_tokens",
            "4096, and a measured answer has",
            "at most max_tokens",
        ),
        (
            "requests: 4",
            "requests: 3",
            "scenarios.0.requests",
            "3 requests for 4 streams",
            "at least",
        ),
        (
            "method: ngram, draft_tokens: 5",
            "draft_tokens: 5",
            "draft_tokens",
            "without a method",
            "",
        ),
        (
            "method: ngram, draft_tokens: 5",
            "method: ngram",
            "draft_tokens",
            "nothing",
            "needs this",
        ),
        (
            "request_slots: 8",
            "batch_tokens: 8",
            "arms.plain.serve.batch_tokens",
            "batch_tokens",
            "flags, graphs, request_slots",
        ),
        ("request_slots: 8", "graphs: full", "arms.plain.serve.graphs", "full", "none"),
        ("hardware: here", "hardware: 5", "hardware", "5", "valid string"),
        ("  plain: {}", "  plain: {}\n  plain: {}", "line", "duplicate", "without duplicate keys"),
        ("  plain: {}", "  Plain: {}", "arms", "Plain", "lower-case"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_what_is_allowed(
    tmp_path, old, new, path, found, wanted
):
    message = refused(tmp_path, change(old, new))
    assert message.startswith("config/studies/tiny.yaml")
    for part in (path, found, wanted):
        assert part in message


def test_all_mistakes_are_shown_at_once(tmp_path):
    study = change("engine: new", "engine: knew").replace("target: big", "target: bit")
    study = study.replace("workload: sums", "workload: sum")
    message = refused(tmp_path, study)
    assert {"knew", "bit", "sum"} <= set(re.findall(r"found +(\S+)", message))


@pytest.mark.parametrize("revision", ["main", "v1.0", "11111111", "1" * 39, "G" * 40])
def test_a_revision_that_is_no_commit_is_refused(tmp_path, revision):
    root = write_repository(tmp_path)
    (root / "config/models.yaml").write_text(MODELS.replace("1" * 40, revision))
    with pytest.raises(ConfigError) as caught:
        resolve(root, "tiny")
    assert "config/models.yaml: big.source" in str(caught.value)
    assert "revision" in str(caught.value)
    assert "40 hex digits" in str(caught.value)


def test_a_precision_without_its_model_is_refused(tmp_path):
    root = write_repository(tmp_path)
    stated = MODELS.replace("licence: MIT", "licence: MIT\n  precision: FP8", 1)
    (root / "config/models.yaml").write_text(stated)
    with pytest.raises(ConfigError, match="model and precision are stated together") as caught:
        resolve(root, "tiny")
    assert "config/models.yaml: big" in str(caught.value)


def test_a_speculative_key_that_this_engine_version_lacks_is_refused_for_that_version(tmp_path):
    study = change("draft_tokens: 5", "draft_tokens: 5, prompt_lookup_min: 2")
    message = refused(tmp_path, study)
    assert "arms.ngram.speculation.prompt_lookup_min" in message
    assert "ngram in new" in message and "ngram in old" in message


def test_an_unknown_study_lists_the_known_ones(tmp_path):
    with pytest.raises(ConfigError, match="did you mean tiny"):
        resolve(write_repository(tmp_path), "tinny")


def test_a_study_that_extends_itself_is_refused_with_the_other_studies(tmp_path):
    message = refused(tmp_path, STUDY + "extends: tiny\n")
    assert "config/studies/tiny.yaml: extends" in message
    assert "found    tiny" in message


def test_bfcl_takes_nothing_of_a_scenario_that_it_decides_itself(tmp_path):
    root = write_repository(tmp_path)
    (root / "envs/bfcl.lock").write_text("package==1.0 --hash=sha256:00\n")
    with (root / "config/datasets.yaml").open("a") as file:
        file.write(BFCL)
    wanted = "- {workload: calls, streams: 2, requests: 4, max_tokens: 64, thinking: true}"
    (root / "config/studies/tiny.yaml").write_text(change("roles:", f"  {wanted}\nroles:"))
    with pytest.raises(ConfigError) as caught:
        resolve(root, "tiny")
    paths = [problem.path for problem in caught.value.problems]
    assert paths == [f"scenarios.2.{key}" for key in ("grade", "max_tokens", "thinking")]
    assert "4096: BFCL's client decides it" in str(caught.value)


BFCL = """
calls:
  description: cases
  licence: Apache-2.0
  source: {path: calls.yaml}
  reader: {format: yaml, id: id, category: category, prompt: "{id}"}
  bfcl: {handler: some/handler, environment: {kind: venv, lock: envs/bfcl.lock}}
"""


LEDGER = """
article: none.txt
arms: {fast: {words: quick, line: 1}, slow: {words: plain, line: 1}}
scenarios: {}
passages: []
not_figures: []
"""


@pytest.mark.parametrize(
    ("drafter", "plain", "found"),
    [
        ("here/fast", "slow", None),
        ("there/fast", "slow", "there"),
        ("here/fist", "slow", "fist"),
        ("here/fast", "slw", "slw"),
        ("fast", "slow", "fast"),
    ],
)
def test_a_published_drafter_is_an_arm_of_a_ledger_with_its_plain_decoding(
    tmp_path, drafter, plain, found
):
    root = write_repository(tmp_path, f"{STUDY}published_drafters: {{{drafter}: {plain}}}\n")
    (root / "config/published").mkdir()
    (root / "config/published/here.yaml").write_text(LEDGER)
    if found is None:
        assert Files(resolve(root, "tiny"), root).published == ["config/published/here.yaml"]
        return
    with pytest.raises(ConfigError, match=rf"(?s)published_drafters\.{drafter}.*found +'?{found}"):
        resolve(root, "tiny")
