import ast
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student_t

from specdock.grades.exact_match import exact_match
from tests.audit.measured_study import NAME, finish
from tests.audit.tampering import launder, other_value, reseal, restored, rewrite, write_numbers
from tests.workflow.clone import ROOT
from verification import claims, tables
from verification.arguments import ARGUMENTS
from verification.grades import final_number
from verification.pages import LINK
from verification.statistics import student
from verification.study import BrokenLink, Study, compare
from verify import verify


def broken(folder: Path) -> str:
    """What breaks, in one line."""
    with pytest.raises(BrokenLink) as found:
        list(verify(folder))
    assert "\n" not in str(found.value)
    return str(found.value)


def of(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


# An untouched tree


def test_an_untouched_study_is_whole_and_says_what_it_could_not_check(study):
    report = "\n".join(verify(study))
    assert "90 answers with a number were graded again" in report
    assert "402 requests, 67 cells, 25 sessions" in report
    assert "18 raw rows that other clients measured say what their exports say" in report
    assert "9 figures of other clients follow from their exports" in report
    assert "by the seal alone" in report


def test_it_runs_alone_on_a_copy_of_its_own_files(study, tmp_path):
    for name in ("verify.py", *(p.name for p in (ROOT / "scripts/verification").glob("*.py"))):
        folder = "scripts" if name == "verify.py" else "scripts/verification"
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_bytes((ROOT / folder / name).read_bytes())
    command = [sys.executable, str(tmp_path / "scripts/verify.py"), str(study)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("WHOLE")


def test_it_imports_nothing_but_python_pyarrow_and_itself():
    for path in (ROOT / "scripts/verify.py", *(ROOT / "scripts/verification").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            known = sys.stdlib_module_names | {"pyarrow", "verification"}
            assert {name.split(".")[0] for name in names} <= known, path


def test_a_break_is_one_line_and_exit_code_1(study):
    with restored(study):
        of(study, "raw/plain/*/*/requests.parquet")[0].unlink()
        command = [sys.executable, str(ROOT / "scripts/verify.py"), str(study)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("BROKEN") and "requests.parquet" in line


def test_files_of_earlier_plans_break_nothing(study):
    with restored(study):
        pack = of(study, "raw/plain/seed-1/*")[0]
        for name in ("manifest.json", "requests.parquet"):
            earlier = pack.with_name("0" * 16) / name
            earlier.parent.mkdir(exist_ok=True)
            earlier.write_bytes((pack / name).read_bytes())
        assert "2 files of earlier plans" in "\n".join(verify(study))


def test_making_the_study_again_seals_the_same_bytes(study):
    before = (study / "seal.json").read_bytes()
    with restored(study):
        reseal(study)
        assert (study / "seal.json").read_bytes() == before


def test_a_floor_that_was_raised_later_judges_what_was_measured(study):
    config = study.parents[1] / f"config/studies/{NAME}.yaml"
    before = config.read_text()

    def cells() -> list[dict]:
        found = pq.read_table(study / "tables/cells.parquet").to_pylist()
        return [cell for cell in found if cell["scenario"] == "sums@1"]

    assert any(cell["usable"] and cell["accuracy"] < 1 for cell in cells())
    with restored(study):
        config.write_text(before.replace("floor: 0.1", "floor: 1.0"))
        finish(study.parents[1])
        config.write_text(before)
        assert all(cell["accuracy"] == 1 for cell in cells() if cell["usable"])
        assert "\n".join(verify(study))


# Damage


@pytest.mark.parametrize("seed", range(40))
def test_one_flipped_bit_anywhere_is_found(study, seed):
    draw = random.Random(seed)
    files = [*json.loads((study / "seal.json").read_text())["files"], f"results/{NAME}/seal.json"]
    path = study.parents[1] / draw.choice(files)
    with restored(study):
        content = bytearray(path.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
        assert path.name in broken(study) or path.name == "seal.json"


@pytest.mark.parametrize("seed", range(10))
def test_one_deleted_file_is_found(study, seed):
    files = json.loads((study / "seal.json").read_text())["files"]
    path = study.parents[1] / random.Random(seed).choice(list(files))
    with restored(study):
        path.unlink()
        assert path.name in broken(study)


def test_a_file_put_beside_the_tables_is_found(study):
    with restored(study):
        (study / "claims/more.parquet").write_bytes(b"x")
        assert "more.parquet: is not in the seal" in broken(study)


@pytest.mark.parametrize(
    "pattern", ["plan.json", "specs/*/*", "raw/*/*/*/server.log", "grades/*/*/*"]
)
def test_a_file_deleted_and_left_out_of_the_seal_is_found(study, pattern):
    with restored(study):
        path = of(study, pattern)[0]
        shown = path.relative_to(study.parents[1]).as_posix()
        seal = json.loads((study / "seal.json").read_text())
        path.unlink()
        del seal["files"][shown]
        (study / "seal.json").write_text(json.dumps(seal, indent=1) + "\n")
        assert broken(study)


# Forgery: every hash is made right again, so that recomputation alone can find it


def stated_and_computed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple]:
    """Rows of every table as they are stated, and as verification computes them."""
    seen = {}
    for module in (tables, claims):
        monkeypatch.setattr(
            module, "compare_tables", lambda where, *rows: seen.setdefault(where, rows[:2])
        )
    list(tables.check_tables(Study(folder)))
    list(claims.check_claims(Study(folder)))
    return seen


def test_every_column_of_every_table_is_recomputed(study, monkeypatch):
    checked = 0
    for where, (stated, computed) in stated_and_computed(study, monkeypatch).items():
        assert len(stated) == len(computed) > 0
        for column in stated[0]:
            known = [place for place, row in enumerate(stated) if row[column] is not None]
            place = known[len(known) // 2] if known else 0
            forged = stated[place] | {column: other_value(stated[place][column]) or "x"}
            with pytest.raises(BrokenLink, match=column):
                compare(where, forged, computed[place])
            checked += 1
    assert checked > 150


def test_every_figure_of_the_argument_is_recomputed(study):
    checked = Study(study)
    for name, (rows, keys) in ARGUMENTS.items():
        stated = checked.table(f"claims/{name}.parquet")
        computed = {tuple(row[key] for key in keys): row for row in rows(checked)}
        assert len(stated) == len(computed) > 0, name
        for row in stated:
            known = computed[tuple(row[key] for key in keys)].keys()
            assert row.keys() - known <= WORDS, name


@pytest.mark.parametrize("seed", range(16))
def test_a_forged_cell_of_a_table_is_found(study, seed):
    draw = random.Random(seed)
    path = draw.choice(
        of(study, "tables/*.parquet")
        + [p for p in of(study, "claims/*.parquet") if p.stem in RECOMPUTED]
    )
    rows = pq.read_table(path).to_pylist()
    row = draw.randrange(len(rows))
    values = {name: value for name, value in rows[row].items() if value not in (None, [])}
    column = draw.choice([name for name in values if name not in WORDS])
    with restored(study):
        rewrite(path, {row: {column: other_value(values[column])}})
        launder(study)
        assert broken(study)


RECOMPUTED = {"estimates", "comparisons", "gates", "peers", *ARGUMENTS}
# Columns of the argument's tables that describe in words, or repeat what an article published.
WORDS = {"reason", "factors", "changes", "others", "clean", "against", "rank"}
WORDS |= {"metric", "published", "noise", "arm", "scenario"}
WORDS |= {"bytes_from", "bandwidth_from", "stated", "why"}
WORDS |= {"figure_high", "published_low", "published_high"}

RAW = {
    "t_send": lambda row: row["t_send"] - 0.0001,
    "t_end": lambda row: row["t_end"] + 0.001,
    "chunk_times": lambda row: [*row["chunk_times"][:-1], row["t_last"] + 1e-5],
    "completion_tokens": lambda row: row["completion_tokens"] - 1,
    "prompt_tokens": lambda row: row["prompt_tokens"] + 1,
    "finish_reason": lambda row: "stop" if row["finish_reason"] == "length" else "length",
    "error": lambda row: "HTTP 500",
    "body": lambda row: row["body"].replace('"content": "', '"content": "Well, '),
    "prompt_id": lambda row: row["prompt_id"] + "0",
    "category": lambda row: "poems",
    "phase": lambda row: "warmup",
    "request": lambda row: row["request"] + 1,
    "session": lambda row: row["session"] + "0",
    "seed": lambda row: 9,
}


@pytest.mark.parametrize("column", RAW)
def test_a_forged_raw_row_is_found(study, column):
    with restored(study):
        path = of(study, "raw/ngram/seed-1/*/requests.parquet")[0]
        row = pq.read_table(path).slice(3, 1).to_pylist()[0]
        rewrite(path, {3: {column: RAW[column](row)}})
        launder(study)
        assert broken(study)


@pytest.mark.parametrize(
    ("arm", "column", "forge"),
    [
        ("ngram", "step_accepted", lambda steps: [*steps[:-1], steps[-1] + 1]),
        ("ngram", "step_drafted", lambda steps: [*steps[:1], 1, *steps[2:]]),
        ("accounts", "engine_metrics", lambda text: text.replace('correct_drafts": ', "\\g<0>1")),
        ("chunks", "chunk_tokens", lambda chunks: [*chunks[:-1], chunks[-1] + 1]),
    ],
)
def test_forged_drafting_is_found(study, arm, column, forge):
    with restored(study):
        path = of(study, f"raw/{arm}/seed-2/*/requests.parquet")[0]
        row = pq.read_table(path).slice(16, 1).to_pylist()[0]
        rewrite(path, {16: {column: forge(row[column])}})
        launder(study)
        assert broken(study)


def test_an_answer_made_right_is_found(study):
    with restored(study):
        grades, row = next(
            (file, n)
            for file in of(study, "grades/*/seed-1/*")
            for n, graded in enumerate(pq.read_table(file).to_pylist())
            if graded["correct"] is False
        )
        rewrite(grades, {row: {"correct": True}})
        launder(study)
        assert "correct is True, from its source follows False" in broken(study)


FILES = {
    "raw/*/*/*/server.log": lambda text: text.replace("KV cache size: ", "KV cache size: 9"),
    "raw/*/*/*/manifest.json wall": lambda text: text.replace('"wall": ', '"wall": 1'),
    "raw/*/*/*/manifest.json lag": lambda text: text.replace('"loop_lag": ', '"loop_lag": 1'),
    "raw/*/*/*/manifest.json argv": lambda text: text.replace('"--seed"', '"--fast"'),
    "raw/*/*/*/manifest.json commit": lambda text: re.sub('"commit": "..', '"commit": "00', text),
    "raw/*/*/*/manifest.json patch": lambda text: text.replace('"patch": "', '"patch": "x'),
    "plan.json band": lambda text: text.replace('"output_rate": 0.05', '"output_rate": 0.5'),
    "plan.json threshold": lambda text: text.replace('"at_least": 0.03', '"at_least": 0.04'),
    "plan.json seeds": lambda text: text.replace('"seeds": [\n  1,', '"seeds": ['),
    "plan.json slots": lambda text: text.replace('"request_slots": 8', '"request_slots": 80'),
}


@pytest.mark.parametrize("name", FILES)
def test_a_forged_text_file_is_found(study, name):
    with restored(study):
        path = of(study, name.split()[0])[0]
        forged = FILES[name](text := path.read_text())
        assert forged != text
        path.write_text(forged)
        launder(study)
        assert broken(study)


def test_forged_counters_and_samples_are_found(study):
    with restored(study):
        path = of(study, "raw/ngram/seed-1/*/metrics.parquet")[0]
        text = pq.read_table(path).slice(1, 1).to_pylist()[0]["text"]
        forged = re.sub(
            r"(?m)^(vllm:spec_decode_num_accepted_tokens_total\S+ ).*", r"\g<1>9e3", text
        )
        rewrite(path, {1: {"text": forged}})
        launder(study)
        assert "accepted_tokens" in broken(study)
    with restored(study):
        path = of(study, "raw/ngram/seed-1/*/power.parquet")[0]
        rewrite(path, {9: {"power": 300.0}})
        launder(study)
        assert "power" in broken(study)


# The ledger and the pages


@pytest.mark.parametrize("seed", range(12))
def test_a_forged_value_of_the_ledger_is_found(study, seed):
    draw = random.Random(seed)
    with restored(study):
        ledger = json.loads((study / "article/numbers.json").read_text())
        number = draw.choice(ledger["numbers"])
        number["value"] = other_value(number["value"]) if number["value"] else 1.0
        write_numbers(study, ledger)
        reseal(study)
        assert number["id"] in broken(study)


@pytest.mark.parametrize("seed", range(12))
def test_a_number_that_the_ledger_itself_misprints_is_found(study, seed):
    draw = random.Random(seed)
    with restored(study):
        ledger = json.loads((study / "article/numbers.json").read_text())
        printed = [number for number in ledger["numbers"] if re.search(r"\d", number["printed"])]
        number = draw.choice(printed)
        number["printed"] = another_digit(number["printed"], draw)
        write_numbers(study, ledger)
        reseal(study)
        assert number["id"] in broken(study)


@pytest.mark.parametrize("seed", range(8))
def test_a_verdict_turned_round_is_found(study, seed):
    draw = random.Random(seed)
    with restored(study):
        ledger = json.loads((study / "article/numbers.json").read_text())
        words = [n for n in ledger["numbers"] if n["shape"] == "words" and n["kind"] != "setting"]
        number = draw.choice(words)
        number["printed"] = "slower" if number["printed"] == "faster" else "faster"
        write_numbers(study, ledger)
        reseal(study)
        assert number["id"] in broken(study)


def another_digit(text: str, draw: random.Random) -> str:
    place = draw.choice([found.start() for found in re.finditer(r"\d", text)])
    digit = draw.choice([d for d in "123456789" if d != text[place]])
    return text[:place] + digit + text[place + 1 :]


def in_parts(page: str, pattern: str, draw: random.Random) -> str:
    """Changes one digit inside one of the groups that a pattern finds."""
    found = [f for f in re.finditer(pattern, page, re.DOTALL) if re.search(r"\d", f[1])]
    part = draw.choice(found)
    return page[: part.start(1)] + another_digit(part[1], draw) + page[part.end(1) :]


PARTS: dict[str, tuple[str, str]] = {
    "a number of the page": ("article.html", r'<a class="n [^>]*>([^<]*)'),
    "its exact value": ("article.html", r'data-v="([^"]*)"'),
    "an endnote": ("article.html", r'<li id="n-[^>]*>(.*?)</li>'),
    "prose of the page": ("article.html", r"<h3>([^<]+, \d+ streams?)</h3>"),
    "a drawer's value": ("article.html", r'"(?:value|low|high|seeds)":([^,]+)'),
    "a drawer's text": ("article.html", r'"printed":"([^"]*)"'),
    "a drawer's strip": ("article.html", r'"(?:ttft|tpot|request_rate)":\[([^\]]*)\]'),
    "a drawer's hash": ("article.html", r'"([0-9a-f]{64})",\d+\]'),
    "a number of the Markdown": ("article.md", r"\[([^\]]*)\]\(#n"),
    "an endnote of the Markdown": ("article.md", r"\n\d+\. ([^\n]*)"),
    "a row of the audit": ("audit.html", r'id="audit">(.*?)</script>'),
    "a plotted value": ("figures/output-rate.csv", r",(\d+\.\d+),"),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("seed", range(2))
def test_one_printed_digit_is_found(study, part, seed):
    name, pattern = PARTS[part]
    with restored(study):
        path = study / "article" / name
        path.write_text(in_parts(path.read_text(), pattern, random.Random(seed)))
        reseal(study)
        assert name.rpartition("/")[2].split(".")[0] in broken(study)


def test_a_number_taken_off_the_page_is_found(study):
    with restored(study):
        path = study / "article/article.html"
        path.write_text(re.sub(r'<a class="n [^>]*>[^<]*</a>', "", path.read_text(), count=1))
        reseal(study)
        assert "article" in broken(study)


def test_links_of_the_markdown_are_all_seen(study):
    text = (study / "article/article.md").read_text()
    assert len(LINK.findall(text)) == text.count("](#n") > 200


# Independent arithmetic


def test_student_quantiles_are_right():
    for freedom in (1, 1.3, 2, 2.7, 5, 13.8, 49, 120):
        for p in (0.8, 0.9, 0.975):
            assert student(p, freedom) == pytest.approx(student_t.ppf(p, freedom), rel=1e-10)


NUMERAL = st.from_regex(r"[-−]?[$€]?-?(\d{1,3}(,\d{3})*|\d+)?(\.\d+)?(/[1-9])?", fullmatch=True)
PIECE = st.one_of(
    NUMERAL, st.sampled_from(["a", " ", "\n", "####", "#### ", "**", ".", ")", "x", "%"])
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(PIECE, max_size=9).map("".join))
def test_the_second_grader_agrees_with_the_first(text):
    verdict = exact_match(text, "#### 7")
    found, rule = final_number(text)
    assert (rule, found is not None and found == 7) == (verdict.outcome, verdict.correct)
