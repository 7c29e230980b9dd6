"""Other people's clients in config: what may be named where, and what it changes."""

import json

import pytest

from specdock.plan.plan import replayed, resolved_study
from specdock.plan.problems import ConfigError
from specdock.plan.resolve import resolve
from tests.plan.repository import STUDY, write_repository

CLIENTS = """
gun:
  adapter: aiperf
  version: "1.0"
  environment: {kind: venv, lock: envs/old.lock}
  generates_load: [vllm]
  definitions: {output_rate: tokens, ttft_median: first, tpot_median: later}
bow:
  extends: gun
  adapter: vllm-bench
  generates_load: []
"""
PEERS = "peers: {arm: plain, scenario: essays@4, clients: [gun, bow]}\n"
SUMS = "{workload: sums, streams: 1, requests: 4, max_tokens: 32, grade: exact-match"
GENERATED = STUDY.replace(SUMS, f"{SUMS}, load_generator: {{client: gun}}")


def planned(tmp_path, study, clients=CLIENTS):
    root = write_repository(tmp_path, study)
    (root / "config/clients.yaml").write_text(clients)
    return resolve(root, "tiny")


def cells(plan):
    return {
        (s.spec.arm.name, s.spec.seed, c.scenario.id): c.fingerprint
        for s in plan.sessions
        for c in s.spec.cells
    }


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (STUDY + PEERS.replace("bow", "boww"), r"peers.clients.1\n.*boww\n.*did you mean bow"),
        (STUDY + PEERS.replace("bow", "gun"), r"peers.clients.1\n.*\n.*each client once"),
        (STUDY + PEERS.replace("plain", "plan"), r"peers.arm\n.*plan\n.*did you mean plain"),
        (STUDY + PEERS.replace("essays@4", "essays@2"), r"peers.scenario\n.*essays@2"),
        (STUDY + PEERS.replace("]}", "], rounds: 1}"), r"peers.rounds\n.*1\n"),
        (GENERATED + PEERS.replace("essays@4", "sums@1"), r"load_generator\n.*gun\n.*our client"),
        (
            GENERATED.replace("client: gun", "client: bow"),
            r"client\n.*bow, which tells too little of requests to new\n  allowed  gun",
        ),
        (GENERATED.replace("client: gun", "client: gum"), r"load_generator.client\n.*gum\n"),
    ],
)
def test_a_mistake_names_its_place_and_what_is_allowed(tmp_path, study, words):
    with pytest.raises(ConfigError, match=f"(?s)tiny.yaml: .*{words}"):
        planned(tmp_path, study)


@pytest.mark.parametrize(
    ("study", "place"),
    [
        (STUDY + PEERS, "peers.arm"),
        (GENERATED.replace("{client: gun}", "{client: gun, flags: {--concurrency: 1}}"), "client"),
    ],
)
def test_a_target_that_keeps_its_tokenizer_to_itself_is_refused(tmp_path, study, place):
    root = write_repository(tmp_path, study)
    (root / "config/clients.yaml").write_text(CLIENTS)
    models = root / "config/models.yaml"
    models.write_text(models.read_text().replace('files: ["*"]', "files: [big-Q4.gguf]", 1))
    with pytest.raises(ConfigError, match=rf"{place}\n.*plain, whose target big is a GGUF file"):
        resolve(root, "tiny")
    named = study.replace("--concurrency: 1", "--tokenizer: builtin")
    (root / "config/studies/tiny.yaml").write_text(named.replace(PEERS, ""))
    assert resolve(root, "tiny").sessions


def test_an_unknown_metric_of_a_clients_definitions_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"config/clients.yaml: gun.definitions"):
        planned(tmp_path, STUDY + PEERS, CLIENTS.replace("tpot_median", "tpot"))


def test_a_study_that_names_no_client_needs_no_catalogue_of_them(tmp_path):
    assert resolve(write_repository(tmp_path), "tiny").clients == {}


def test_a_cross_check_changes_no_cell_of_the_study(tmp_path):
    before = planned(tmp_path / "before", STUDY)
    after = planned(tmp_path / "after", STUDY + PEERS)
    assert cells(before) == cells(after)
    assert [s.key for s in before.sessions] == [s.key for s in after.sessions]
    (cell,) = after.peers.session.cells
    assert (cell.scenario.id, after.peers.session.seed) == ("essays@4", 1)
    assert resolved_study(after)["peers"]["fingerprint"] == after.peers_fingerprint
    assert resolved_study(before)["peers"] is None


def test_a_load_generator_changes_the_cells_of_its_scenario_alone(tmp_path):
    ours = cells(planned(tmp_path / "ours", STUDY))
    theirs = cells(planned(tmp_path / "theirs", GENERATED))
    changed = {key for key in ours if ours[key] != theirs[key]}
    assert changed == {key for key in ours if key[2] == "sums@1"}


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (("client: gun", "client: gun, flags: {--request-rate: 2}"), True),
        (("output_rate: tokens", "output_rate: answers"), False),
    ],
)
def test_flags_decide_a_generated_cell_and_words_about_it_do_not(tmp_path, change, again):
    before = planned(tmp_path / "before", GENERATED)
    after = planned(tmp_path / "after", GENERATED.replace(*change), CLIENTS.replace(*change))
    assert (cells(before) != cells(after)) == again


def test_a_new_lock_of_a_client_measures_its_comparison_and_its_cells_again(tmp_path):
    before = planned(tmp_path, GENERATED + PEERS)
    (tmp_path / "envs/old.lock").write_text("package==1.1 --hash=sha256:00\n")
    after = resolve(tmp_path, "tiny")
    assert before.peers_fingerprint != after.peers_fingerprint
    new, old = cells(after), cells(before)
    own = [key for key in old if not key[0].endswith("-old")]
    assert {key for key in own if old[key] != new[key]} == {k for k in own if k[2] == "sums@1"}


def test_a_replay_compares_clients_only_where_they_were_measured(tmp_path):
    plan = planned(tmp_path, STUDY + PEERS)
    assert replayed(plan, tmp_path).peers is None
    assert resolved_study(replayed(plan, tmp_path))["peers"] is None
    manifest = tmp_path / f"results/tiny/peers/{plan.peers_fingerprint}/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}")
    assert replayed(plan, tmp_path).peers == plan.peers


def test_an_archived_study_compares_the_clients_that_its_manifest_states(tmp_path):
    plan = planned(tmp_path, STUDY + PEERS)
    for session in plan.sessions:
        arm, seed, fp = session.key
        kept(tmp_path / f"results/tiny/raw/{arm}/seed-{seed}/{fp}", session.spec)
    kept(tmp_path / f"results/tiny/peers/{plan.peers_fingerprint}", plan.peers)
    archived = planned(tmp_path, STUDY + PEERS + "archived: true\n", CLIENTS.replace("bow", "box"))
    assert archived.peers_fingerprint == plan.peers_fingerprint
    assert archived.peers == plan.peers


def kept(folder, spec):
    folder.mkdir(parents=True)
    content = {"spec": spec.model_dump(mode="json", exclude_defaults=True)}
    (folder / "manifest.json").write_text(json.dumps(content))
