"""Pins of the hub: locked, fetched, re-hashed, then offline; a refusal says what to do."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from specdock.pins.fetch import pin_of
from specdock.plan.load import load_data_sets, load_models
from tests.stand_ins.hub import Hub, Repository

SCRIPTS = Path(__file__).parents[2] / "scripts"
COMMIT = "a" * 40
FILES = {"config.json": b"{}", "model.safetensors": b"weights" * 1000, "README.md": b"no"}

CONFIG = """
thing:
  description: a thing
  licence: unknown
  source: {{repository: some/thing, revision: "{revision}", files: {files}}}
"""


def repository(root: Path, revision: str = COMMIT, files: str = '["*.json", "*.safetensors"]'):
    """A root whose catalogues hold one model called thing, and its pin."""
    (root / "config").mkdir(exist_ok=True)
    (root / "results/pins").mkdir(parents=True, exist_ok=True)
    (root / "config/models.yaml").write_text(CONFIG.format(revision=revision, files=files))
    (root / "config/datasets.yaml").write_text("{}")
    return pin_of("thing", load_models(root)["thing"])


def run(root: Path, verb: str, pin: str, hub: str, **more: str) -> subprocess.CompletedProcess:
    """scripts/<verb>.py as its rule calls it, against the hub at an address."""
    ending = {"pin": "lock", "fetch": "receipt"}[verb]
    out = root / f"results/pins/{pin}.{ending}.json"
    cache = {"HF_HOME": str(root / "hf"), "HF_ENDPOINT": hub, "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, SCRIPTS / f"{verb}.py", "--pin", pin, "--out", out],
        cwd=root,
        env=os.environ | cache | {"HF_HUB_DISABLE_TELEMETRY": "1"} | more,
        capture_output=True,
        text=True,
    )


def message(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_pin_is_locked_fetched_and_offline_afterwards(tmp_path):
    pin = repository(tmp_path)
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        assert run(tmp_path, "pin", pin, hub.address).returncode == 0
        lock = json.loads((tmp_path / f"results/pins/{pin}.lock.json").read_text())
        assert lock["licence"] == "apache-2.0"
        assert [file["path"] for file in lock["files"]] == ["config.json", "model.safetensors"]
        weights = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
        assert lock["files"][1] == {"path": "model.safetensors", "size": 7000, "sha256": weights}
        assert "git_sha1" in lock["files"][0]
        assert run(tmp_path, "fetch", pin, hub.address).returncode == 0
    receipt = tmp_path / f"results/pins/{pin}.receipt.json"
    first = receipt.read_bytes()
    receipt.unlink()
    again = run(tmp_path, "fetch", pin, hub.address, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    assert receipt.read_bytes() == first


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_flipped_byte_of_what_was_fetched_is_found(tmp_path, name):
    pin = repository(tmp_path)
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        run(tmp_path, "pin", pin, hub.address)
        assert run(tmp_path, "fetch", pin, hub.address).returncode == 0
        path = tmp_path / "resources" / pin / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        said = message(run(tmp_path, "fetch", pin, hub.address))
    assert str(path) in said and "not the pinned bytes" in said


def test_a_hub_that_serves_other_bytes_than_it_locked_is_found(tmp_path):
    pin = repository(tmp_path)
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        run(tmp_path, "pin", pin, hub.address)
    changed = FILES | {"model.safetensors": b"Weights" * 1000}
    with Hub(Repository("some/thing", COMMIT, changed)) as hub:
        assert "not the pinned bytes" in message(run(tmp_path, "fetch", pin, hub.address))


@pytest.mark.parametrize(
    ("served", "revision", "words"),
    [
        ({"state": "gated"}, COMMIT, "accept its licence on the hub and set HF_TOKEN"),
        ({"state": "missing"}, COMMIT, "no such repository"),
        ({"state": "private"}, COMMIT, "HF_TOKEN may not read"),
        ({}, "b" * 40, "no such commit"),
    ],
)
def test_a_refusal_of_the_hub_says_what_to_do(tmp_path, served, revision, words):
    pin = repository(tmp_path, revision)
    with Hub(Repository("some/thing", COMMIT, FILES, **served)) as hub:
        said = message(run(tmp_path, "pin", pin, hub.address))
    assert f"some/thing@{revision}" in said and words in said


def test_an_allow_list_that_admits_nothing_lists_the_files(tmp_path):
    pin = repository(tmp_path, files='["*.gguf"]')
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        said = message(run(tmp_path, "pin", pin, hub.address))
    assert "model.safetensors" in said


def test_a_pattern_that_admits_nothing_is_named_beside_one_that_does(tmp_path):
    pin = repository(tmp_path, files='["*.json", "tokeniser.*"]')
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        said = message(run(tmp_path, "pin", pin, hub.address))
    assert "found    tokeniser.*" in said


def test_a_fingerprint_that_config_does_not_have_is_refused(tmp_path):
    pin = repository(tmp_path)
    said = message(run(tmp_path, "pin", f"thing.{'0' * 16}", "http://127.0.0.1:9"))
    assert f"allowed  {pin}" in said


def test_several_licences_of_a_card_are_all_kept(tmp_path):
    pin = repository(tmp_path)
    with Hub(Repository("some/thing", COMMIT, FILES, licence=["mit", "cc-by-4.0"])) as hub:
        assert run(tmp_path, "pin", pin, hub.address).returncode == 0
    lock = json.loads((tmp_path / f"results/pins/{pin}.lock.json").read_text())
    assert lock["licence"] == "mit, cc-by-4.0"


def test_no_network_is_one_message(tmp_path):
    pin = repository(tmp_path)
    said = message(run(tmp_path, "pin", pin, "http://127.0.0.1:9"))
    assert "cannot be reached" in said


RESOLVE = """
import sys
from specdock.errors import SpecdockError
from specdock.pins.hub import resolve_short_commit
try:
    print(resolve_short_commit("some/thing", sys.argv[1]))
except SpecdockError as problem:
    sys.exit(str(problem))
"""


@pytest.mark.parametrize(
    ("prefix", "answer"),
    [("abcd1234", "abcd1234" + "0" * 32), ("abcd", "2 commits"), ("ffff", "0 commits")],
)
def test_a_short_commit_is_resolved_only_if_it_is_unique(tmp_path, prefix, answer):
    older = ["abcd1234" + "0" * 32, "abcd9999" + "0" * 32]
    with Hub(Repository("some/thing", COMMIT, FILES, older=older)) as hub:
        done = subprocess.run(
            [sys.executable, "-c", RESOLVE, prefix],
            env=os.environ | {"HF_ENDPOINT": hub.address, "PYTHONPATH": str(SCRIPTS)},
            capture_output=True,
            text=True,
        )
    assert answer in done.stdout + done.stderr
    assert (done.returncode == 0) == (len(answer) == 40)


def test_a_data_set_repository_is_asked_as_a_data_set(tmp_path):
    repository(tmp_path)
    (tmp_path / "config/models.yaml").write_text("{}")
    text = CONFIG.format(revision=COMMIT, files='["*.json"]') + "  reader: {format: json}\n"
    (tmp_path / "config/datasets.yaml").write_text(text)
    pin = pin_of("thing", load_data_sets(tmp_path)["thing"])
    with Hub(Repository("some/thing", COMMIT, FILES, kind="datasets")) as hub:
        assert run(tmp_path, "pin", pin, hub.address).returncode == 0
        assert run(tmp_path, "fetch", pin, hub.address).returncode == 0
    assert (tmp_path / "resources" / pin / "config.json").read_bytes() == b"{}"


PENDING = """
thing:
  description: a thing
  licence: unknown
  source: {{repository: some/thing, revision: pending, short_commit: {short}, files: ["*.json"]}}
"""


def pending(root: Path, short: str) -> str:
    """As `repository`, with a commit that config knows in part only."""
    repository(root)
    (root / "config/models.yaml").write_text(PENDING.format(short=short))
    return pin_of("thing", load_models(root)["thing"])


def test_a_short_commit_is_asked_once_and_the_lock_states_it_in_full(tmp_path):
    pin = pending(tmp_path, COMMIT[:8])
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        assert run(tmp_path, "pin", pin, hub.address).returncode == 0
        lock = json.loads((tmp_path / f"results/pins/{pin}.lock.json").read_text())
        assert lock["source"]["revision"] == COMMIT
        asked = [request for request in hub.requests if "/commits/" in request]
        assert len(asked) == 1
        assert run(tmp_path, "fetch", pin, hub.address).returncode == 0
        assert [request for request in hub.requests if "/commits/" in request] == asked
    receipt = json.loads((tmp_path / f"results/pins/{pin}.receipt.json").read_text())
    assert receipt["lock"]["source"]["revision"] == COMMIT


@pytest.mark.parametrize(("short", "found"), [(COMMIT[:8], 2), ("b" * 8, 0)])
def test_a_short_commit_that_is_not_one_commit_is_refused(tmp_path, short, found):
    pin = pending(tmp_path, short)
    with Hub(Repository("some/thing", COMMIT, FILES, older=["a" * 39 + "b"])) as hub:
        said = message(run(tmp_path, "pin", pin, hub.address))
    assert f"{found} commits start with {short}" in said
    assert not (tmp_path / f"results/pins/{pin}.lock.json").exists()


def test_bytes_of_a_short_commit_are_refused_without_its_lock(tmp_path):
    pin = pending(tmp_path, COMMIT[:8])
    with Hub(Repository("some/thing", COMMIT, FILES)) as hub:
        said = message(run(tmp_path, "fetch", pin, hub.address))
    assert f"snakemake --cores 1 results/pins/{pin}.lock.json" in said
    assert not hub.requests
