import json
import subprocess
import sys

import pytest

from specdock.audit.chain import chain
from specdock.audit.changes import changes
from specdock.audit.impact import impact, sentences
from specdock.audit.printed import PrintedNumbers, rendered_study
from specdock.errors import SpecdockError
from tests.audit.measured_study import NAME, git
from tests.audit.tampering import restored, rewrite, write_numbers
from tests.workflow.clone import ROOT


@pytest.fixture(scope="module")
def printed(study):
    return PrintedNumbers(study, study.parents[1])


def number(printed: PrintedNumbers, name: str) -> dict:
    (found,) = printed.find(name)
    return found


def test_a_figure_is_found_whole_and_by_everything_that_prints_it(printed):
    rate = number(printed, "output_rate/ngram/essays@1")
    found = printed.find(rate["printed"])
    assert rate in found
    assert all(rate["printed"] in other["printed"] for other in found)
    assert rate not in printed.find(rate["printed"][-1])


def test_what_nothing_prints_is_an_error_that_names_what_is_near(printed):
    with pytest.raises(SpecdockError, match="did you mean output_rate/ngram/essays@1"):
        printed.find("output_rate/ngram/esays@1")


def test_the_chain_leads_from_value_to_log_line(printed):
    lines = list(chain(number(printed, "output_rate/ngram/essays@2"), printed))
    labels = [label for label, _ in lines]
    assert labels[0] == number(printed, "output_rate/ngram/essays@2")["printed"]
    order = ["id", "claim", "source", "table", "raw", "session", "evidence", "rule", "rebuild"]
    assert [label for label in dict.fromkeys(labels) if label in order] == order
    text = "\n".join(text for _, text in lines)
    assert "95% interval" in text and "2 starts, 12 requests" in text
    assert "against plain: better, band 0.05" in text
    assert "raw/ngram/seed-1/" in text and "8-13" in text
    assert "server.log:" in text
    assert "measure (rules/runs.smk:" in text and "claims (rules/claims.smk:" in text
    assert "printed in" in labels
    assert "CHANGED" not in text


def test_the_chain_says_where_a_file_changed_or_is_gone(printed, study):
    with restored(study):
        (raw,) = study.glob("raw/ngram/seed-1/*/requests.parquet")
        rewrite(raw, {3: {"text": "another answer"}})
        next(study.glob("raw/ngram/seed-3/*/requests.parquet")).unlink()
        lines = list(chain(number(printed, "output_rate/ngram/essays@1"), printed))
    raw_lines = {text.split("/")[4]: text for label, text in lines if label == "raw"}
    assert raw_lines["seed-1"].endswith("CHANGED SINCE")
    assert "CHANGED" not in raw_lines["seed-2"]
    assert raw_lines["seed-3"].endswith("MISSING")


def ids(numbers: list[dict]) -> set[str]:
    return {number["id"] for number in numbers}


@pytest.mark.parametrize("name", ["requests.parquet", "server.log", "manifest.json"])
def test_a_raw_file_decides_what_its_session_is_behind(printed, study, name):
    (path,) = study.glob(f"raw/ngram/seed-1/*/{name}")
    found = ids(impact(path.relative_to(printed.root).as_posix(), printed))
    assert "output_rate/ngram/essays@1" in found
    assert "output_rate/ngram:plain/essays@1/ratio/times" in found
    assert "output_rate/plain/essays@1" not in found


def test_grades_decide_what_their_session_is_behind(printed, study):
    (path,) = study.glob("grades/ngram/seed-1/*")
    found = ids(impact(path.relative_to(printed.root).as_posix(), printed))
    assert "output_rate/ngram/essays@1" in found and "output_rate/plain/essays@1" not in found


def test_a_template_decides_its_sentences(printed):
    numbers = impact("article/sections/gates.md.j2", printed)
    assert {number["kind"] for number in numbers} == {"gate"}
    places = sentences(numbers, printed.root)
    assert all(place.startswith("article/sections/gates.md.j2:") for place, _ in places)
    assert any("gate.verdict" in text for _, text in places)


def test_a_module_decides_what_the_rules_on_it_make(printed):
    everything = ids(printed.numbers)
    measured = ids(impact("scripts/specdock/runs/client.py", printed))
    assert "output_rate/plain/essays@1" in measured and "setting/seeds" not in measured
    assert ids(impact("scripts/specdock/article/page/html.py", printed)) == everything
    claimed = ids(impact("scripts/specdock/claims/intervals.py", printed))
    assert "gate/gate-1/verdict" in claimed and "count/requests" not in claimed
    assert not impact("scripts/specdock/audit/seal.py", printed)


def test_rules_tables_locks_and_config_decide_theirs(printed):
    folder = f"results/{NAME}"
    gates = ids(impact(f"{folder}/claims/gates.parquet", printed))
    assert gates == {n["id"] for n in printed.numbers if n["kind"] == "gate"}
    assert "output_rate/plain/essays@1" in ids(impact("rules/runs.smk", printed))
    assert "output_rate/plain/essays@1" in ids(impact("envs/vllm-0.32.0-cpu.lock", printed))
    older = ids(impact("envs/vllm-0.27.1-cpu.lock", printed))
    assert "output_rate/older/essays@1" in older and "output_rate/plain/essays@1" not in older
    assert not impact("envs/sglang-0.5.23.lock", printed)
    configured = impact(f"config/studies/{NAME}.yaml", printed)
    assert ids(configured) == {n["id"] for n in printed.numbers if n["kind"] != "published"}
    quoted = ids(impact(f"config/published/{NAME}.yaml", printed))
    assert quoted == {n["id"] for n in printed.numbers if n["kind"] == "published"}
    with pytest.raises(SpecdockError, match="no such file"):
        impact("rules/none.smk", printed)


def test_changes_since_a_revision_are_judged_by_the_interval_of_then(study):
    root = study.parents[1]
    git(root, "add", "-f", f"results/{NAME}/article/numbers.json")
    git(root, "commit", "-q", "-m", "Results")
    with restored(study):
        ledger = json.loads((study / "article/numbers.json").read_text())
        of = {number["id"]: number for number in ledger["numbers"]}
        near, far = of["output_rate/plain/essays@1"], of["output_rate/ngram/essays@1"]
        near["value"] = (near["low"] + near["high"]) / 2
        far["value"] = far["high"] * 2
        near["printed"] = far["printed"] = "7"
        gone = ledger["numbers"].pop()
        write_numbers(study, ledger)
        found = {change.id: change for change in changes("HEAD", PrintedNumbers(study, root))}
    assert found[near["id"]].judged == "inside its interval"
    assert found[far["id"]].judged == "outside its interval"
    assert found[far["id"]].after == "7"
    assert found[gone["id"]].judged == "gone"
    assert len(found) == 3
    with pytest.raises(SpecdockError, match="not in git at v0"):
        changes("v0", PrintedNumbers(study, root))


def test_the_study_is_the_default_one_or_the_only_one_rendered(study):
    root = study.parents[1]
    assert rendered_study(root, None, NAME).folder == study
    assert rendered_study(root, NAME, "demo").folder == study
    with pytest.raises(SpecdockError, match=f"{NAME}.*\n.*--study"):
        rendered_study(root, "none", "demo")


def test_in_a_pipe_it_prints_plain_lines(study):
    command = [sys.executable, str(ROOT / "scripts/trace.py"), "--study", NAME]
    done = subprocess.run(
        [*command, "gate/gate-1/verdict"], cwd=study.parents[1], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "results/small/claims/gates.parquet" in done.stdout
    done = subprocess.run(
        [*command, "no such"], cwd=study.parents[1], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
