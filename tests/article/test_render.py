import json
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY, TEMPLATES, Rendered, rendered
from synthetic_study import HOSTILE, WHOLE, SyntheticStudy

from specdock.article.arithmetic import ArithmeticDisagrees
from specdock.article.render import render
from specdock.article.study import Study
from specdock.claims.build import build_claims
from specdock.tables.schema import CELLS


def finding_of(article):
    text = re.sub(r"\[([^\]]*)\]\(#n\d+\)", r"\1", article.markdown)
    section = text[text.index("## The finding") :]
    section = section[: section.index("\n## ", 1)]
    return " ".join(section.split())


def test_a_winning_candidate_is_called_faster(won):
    text = finding_of(won)
    assert "The candidate is faster than the incumbent wherever the data allow" in text
    assert "this matched incumbent" in text


def test_a_losing_candidate_is_called_slower(tmp_path):
    text = finding_of(rendered(tmp_path, SyntheticStudy(outcome="loses")))
    assert "The candidate is slower than the incumbent wherever the data allow" in text
    assert "faster than the incumbent" not in text


def test_an_undecided_study_says_that_it_cannot_tell(tmp_path):
    text = finding_of(rendered(tmp_path, SyntheticStudy(outcome="undecided")))
    assert "The candidate cannot be told apart from the incumbent" in text
    assert "By point estimates" in text


SECTIONS = (
    "The finding", "The incumbent", "What speculation does", "How it was measured", "Results",
    "Under load", "Acceptance", "Did the answers change?", "Where the speed came from",
    "What each knob did", "Another engine", "Another precision of the target",
    "Another precision of the drafter", "The bill", "The physical limit", "What to serve",
    "Caveats", "Sources",
)  # fmt: skip


def prose_of(article):
    """The article without tables, notes and links, a section a name."""
    text = re.sub(r"\[([^\]]*)\]\(#n\d+\)", r"\1", article.markdown.partition("\n## Notes")[0])
    text = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return {
        name: " ".join(body.split()) for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


# What a section says of each outcome.
EXPECTED = {
    "What speculation does": {
        "wins": "A step of drafter pays wherever",
        "loses": "It does not on essays, 1 stream; essays, 4 streams.",
        "undecided": "It cannot be told on",
    },
    "Another engine": dict.fromkeys(
        ("wins", "loses", "undecided"), "By the resolved specs nothing else differs"
    ),
    "Another precision of the target": dict.fromkeys(
        ("wins", "loses", "undecided"),
        "fp8-target serves the target in FP8 where drafter serves it in BF16",
    ),
    "Another precision of the drafter": {
        "wins": "It held every gate",
        "loses": "It held every gate",
        "undecided": "These starts do not decide every gate",
    },
}


@pytest.mark.parametrize(
    ("outcome", "finding", "serve"),
    [
        ("wins", "The candidate is faster than the incumbent wherever", "Serve drafter where"),
        ("loses", "The candidate is slower than the incumbent wherever", "Keep ngram where"),
        ("undecided", "cannot be told apart from the incumbent", "These runs do not decide"),
    ],
)
def test_the_whole_argument_reads_for_any_outcome(tmp_path, outcome, finding, serve):
    article = rendered(tmp_path, SyntheticStudy(**WHOLE, outcome=outcome))
    prose = prose_of(article)
    assert tuple(name for name in prose if name in SECTIONS) == SECTIONS
    assert finding in prose["The finding"] and serve in prose["What to serve"]
    assert "This figure has no data" not in str(prose)
    drawn = {path.stem for path in (article.out / "figures").glob("*.svg")}
    assert set(re.findall(r'<figure id="([^"]+)"', article.page)) == drawn
    assert "a drift of" in prose["How it was measured"]
    assert "Each step changes a single factor" in prose["Where the speed came from"]
    for section, of_outcome in EXPECTED.items():
        assert of_outcome[outcome] in prose[section], section
    assert ("changes the text beyond" in prose["The finding"]) == (outcome == "loses")
    for word in ("faster than", "Serve drafter") if outcome != "wins" else ("slower", "Keep"):
        assert word not in prose["The finding"].partition("Plain decoding")[0]
        assert word not in prose["What to serve"]


def test_a_bare_study_says_in_every_section_what_was_not_run(tmp_path):
    study = SyntheticStudy(roles={}, arms=["alone"], workloads={"essays": [1]}, seeds=[1])
    prose = prose_of(rendered(tmp_path, study))
    for section, words in {
        "Under load": "no crossing can be sought",
        "What speculation does": "Plain decoding was not run",
        "Did the answers change?": "No scenario is graded",
        "Where the speed came from": "no speed to divide",
        "What each knob did": "no knob was turned",
        "The bill": "No power was measured",
        "The physical limit": "was not run",
        "What to serve": "recommends nothing",
        "How it was measured": "drift over its hours was not measured",
    }.items():
        assert words in prose[section], section


def test_a_question_that_no_arm_asks_has_no_section(won):
    assert "Another" not in " ".join(prose_of(won))


def test_a_quantised_drafter_that_misses_a_gate_is_said_to(tmp_path):
    study = SyntheticStudy(**WHOLE).write(tmp_path)
    plan = json.loads((study / "plan.json").read_text("utf-8"))
    gate = next(gate for gate in plan["gates"] if gate["arm"] == "fp8-drafter")
    gate |= {"no_worse_than": None, "at_least": 0.5}
    (study / "plan.json").write_text(json.dumps(plan), "utf-8")
    build_claims(plan, study / "tables", tmp_path, study / "claims")
    render(Study(study, tmp_path), TEMPLATES, study / "article")
    article = Rendered(tmp_path, Study(study, tmp_path), study / "article")
    said = prose_of(article)["Another precision of the drafter"]
    assert "it did not hold: output rate of fp8-drafter on essays@1" in said
    assert "It held every gate" not in said


def test_an_absurd_interval_leaves_the_figures_readable(tmp_path):
    """Two starts that differ sixfold have an interval that ends beyond a million."""
    study = SyntheticStudy(**WHOLE, seeds=[1, 2]).write(tmp_path)
    cells = pq.read_table(study / "tables/cells.parquet").to_pylist()
    for cell in cells:
        if (cell["arm"], cell["seed"]) == ("elsewhere", 2):
            for metric in ("output_rate", "ttft_median", "tpot_median"):
                cell[metric] *= 6
    pq.write_table(pa.Table.from_pylist(cells, CELLS), study / "tables/cells.parquet")
    plan = json.loads((study / "plan.json").read_text("utf-8"))
    build_claims(plan, study / "tables", tmp_path, study / "claims")
    render(Study(study, tmp_path), TEMPLATES, study / "article")
    estimates = pq.read_table(study / "claims/estimates.parquet").to_pylist()
    assert max(row["high"] or 0 for row in estimates if row["metric"] == "output_rate") > 1e5
    drawing = (study / "article/figures/output-rate.svg").read_text("utf-8")
    ticks = [float(tick) for tick in re.findall(r">\s*(\d[\d.]*)\s*</text>", drawing)]
    assert 50 < max(ticks) < 1000


def test_one_seed_decides_nothing(tmp_path):
    article = rendered(tmp_path, SyntheticStudy(seeds=[1]))
    assert "no interval between starts exists" in finding_of(article)
    assert " faster" not in finding_of(article)


@pytest.mark.parametrize(
    ("roles", "arms", "words"),
    [
        ({"reference": "plain"}, ["plain", "ngram"], "names no candidate"),
        ({}, ["a", "b"], "neither a candidate nor a reference"),
        (
            {"reference": "plain", "candidate": "drafter"},
            ["plain", "drafter"],
            "The reference has the candidate's budget",
        ),
        (
            {"incumbent": "ngram", "candidate": ["x", "y"]},
            ["ngram", "x", "y"],
            "Plain decoding was not run",
        ),
    ],
)
def test_a_study_without_a_role_says_what_was_not_run(tmp_path, roles, arms, words):
    study = SyntheticStudy(roles=roles, arms=arms, unusable=None, not_run=None, seeds=[1, 2])
    assert words in finding_of(rendered(tmp_path, study))


def test_no_cell_of_a_table_is_empty(won):
    lines = [line for line in won.markdown.splitlines() if line.startswith("|")]
    assert len(lines) > 40
    assert not [line for line in lines if re.search(r"\|\s*\|", line)]


def test_the_markdown_leads_every_number_to_a_note(won):
    used = set(re.findall(r"\]\(#(n\d+)\)", won.markdown))
    notes = set(re.findall(r'<a id="(n\d+)">', won.markdown))
    assert used and used <= notes


def test_the_page_is_one_file_that_asks_for_no_other(won):
    assert not re.search(r'(?:src|href)="(?:https?:)?//', won.page)
    assert "@import" not in won.page and "url(" not in won.page.split("</style>")[0]
    assert len(won.page.encode()) < 5 * 2**20


def test_hostile_text_stays_text_everywhere(hostile):
    for name in ("article.html", "audit.html"):
        page = (hostile.out / name).read_text(encoding="utf-8")
        assert "<img src=x" not in page
        assert page.count("</script>") == page.count("<script")
    assert hostile.markdown.count("\\</script\\>\\<img") > 3
    assert HOSTILE not in hostile.page and HOSTILE not in hostile.markdown


def test_figures_are_vector_with_their_data_beside_them(won):
    for name in ("output-rate", "acceptance"):
        drawing = (won.out / f"figures/{name}.svg").read_text(encoding="utf-8")
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
        assert "<text" in drawing
        data = (won.out / f"figures/{name}.csv").read_text(encoding="utf-8").splitlines()
        assert data[0].startswith("scenario,arm,metric,value,low,high,unit,number")
        assert len(data) > 10


def test_a_second_rendering_writes_the_same_bytes(won, tmp_path):
    again = rendered(tmp_path, SyntheticStudy())
    for name in (
        "article.html",
        "article.md",
        "audit.html",
        "numbers.json",
        "figures/acceptance.svg",
    ):
        assert (again.out / name).read_bytes() == (won.out / name).read_bytes(), name


def test_a_claim_that_was_edited_by_hand_does_not_render(tmp_path):
    folder = SyntheticStudy().write(tmp_path)
    file = folder / "claims/comparisons.parquet"
    table = pq.read_table(file)
    values = [value * 1.1 if value else value for value in table["value"].to_pylist()]
    place = table.schema.get_field_index("value")
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(values)), file)
    with pytest.raises(ArithmeticDisagrees, match=r"comparisons\.parquet"):
        render(Study(folder, tmp_path), TEMPLATES, folder / "article")


def run_script(script, root, *arguments):
    return subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / script, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
    )


def test_the_entry_point_prints_one_message_and_exits_with_2(tmp_path):
    SyntheticStudy().write(tmp_path)
    shutil.copytree(TEMPLATES, tmp_path / "article")
    section = tmp_path / "article/sections/gates.md.j2"
    section.write_text(
        section.read_text(encoding="utf-8") + "\nIt is twice as fast.\n", encoding="utf-8"
    )
    lines = len(section.read_text(encoding="utf-8").splitlines())
    done = run_script("render.py", tmp_path, "--study", "results/synthetic", "--out", "out")
    assert done.returncode == 2
    assert f"article/sections/gates.md.j2:{lines}: the template types “twice”" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_lint_lists_waivers_on_request(tmp_path):
    shutil.copytree(TEMPLATES, tmp_path / "article")
    assert run_script("lint.py", tmp_path).returncode == 0
    done = run_script("lint.py", tmp_path, "--no-waivers")
    assert done.returncode == 2
    assert "article/sections/measured.md.j2" in done.stdout and "waived:" in done.stdout
