"""A study that was measured and published: both stand side by side, where they may."""

import json
import re

import pytest

NUMBER = r"\[([^\]]*)\]\(#n\d+\)"


@pytest.fixture(scope="module")
def table(study) -> dict[str, list[str]]:
    """Cells of the published table by the head of their row, numbers without their links."""
    page = (study / "article/article.md").read_text(encoding="utf-8")
    rows = page.partition("### tokens\n\n")[2].partition("\n\n")[0].splitlines()
    assert rows[0] == "| | plain | guessing |"
    cells = [[cell.strip() for cell in re.sub(NUMBER, r"\1", row).split("|")] for row in rows[2:]]
    return {cell[1]: cell[2:-1] for cell in cells}


def test_ours_stands_beside_the_published_figure(table):
    plain, guessing = table["one stream"]
    assert re.fullmatch(r"48\.1 tok/s; here 4\d\.\d+ \(.* to .*\)", plain)
    assert guessing.startswith("990 tok/s; here ")


def test_another_definition_or_other_prompts_never_stand_in_one_cell(table, study):
    assert table["kept"] == ["–", "2.5 tokens"]
    assert table["two streams"][0] == "90 tok/s"
    page = (study / "article/article.md").read_text(encoding="utf-8")
    assert "Not quite the same here: other essays." in page


def test_what_was_not_published_stands_alone(table):
    assert table["two streams"][1].startswith("here ")
    assert table["slots"][0].startswith("here ")


def test_the_audit_page_has_a_row_for_every_published_figure(study):
    page = (study / "article/audit.html").read_text(encoding="utf-8")
    block = page.partition('<script type="application/json" id="audit">')[2].partition("<")[0]
    rows = {row[0][0]: row for row in json.loads(block)["scoreboard"]}
    assert {name: row[-2] for name, row in rows.items()} == {
        "small/plain": "undecided",
        "small/ngram": "differs",
        "small/correct": "undecided",
        "small/kept": "definition differs",
        "small/two": "definition differs",
    }
    assert rows["small/plain"][0][1] == "article.html#n-published/small/plain"
    assert 'id="n-published/small/plain"' in (study / "article/article.html").read_text("utf-8")
