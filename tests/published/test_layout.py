"""The declared tables have the articles' own rows, columns and cells."""

import re
from functools import cache
from pathlib import Path

import pytest

from specdock.plan.plan import Plan
from specdock.plan.problems import ConfigError
from specdock.plan.resolve import resolve
from specdock.published.account import account_for
from specdock.published.layout import Layout, figures_of, wanted
from specdock.published.ledger import Ledger, load_ledger
from specdock.published.refind import articles_folder, ledger_names

ROOT = Path(__file__).parents[2]
LEDGERS = {name: load_ledger(ROOT, name) for name in ledger_names(ROOT)}
TABLES = [(name, table) for name, ledger in LEDGERS.items() for table in ledger.tables]
PRINTED = [(name, table) for name, table in TABLES if table.in_file]
STUDIES = ("one-card", "drafters-on-sglang", "flash-next", "nvfp4-or-fp8")


@cache
def plans() -> dict[str, Plan]:
    return {study: resolve(ROOT, study) for study in STUDIES}


def caption(value: object) -> str | None:
    return value.caption if isinstance(value, Layout) else None


def lines_of(ledger: Ledger) -> list[str]:
    path = articles_folder(ROOT) / ledger.article
    if not path.is_file():
        pytest.skip(f"{path} is absent: the article is no part of the repository")
    return path.read_text(encoding="utf-8").split("\n")


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_every_table_is_declared():
    counts = {name: len(ledger.tables) for name, ledger in LEDGERS.items()}
    assert counts == {"one-card": 7, "drafters-on-sglang": 4, "flash-next": 8}
    assert {name for name, _ in PRINTED} == {"one-card"} and len(PRINTED) == 7


def test_no_table_of_the_article_is_forgotten():
    lines = lines_of(LEDGERS["one-card"])
    heads = [n for n, line in enumerate(lines) if re.fullmatch(r"(\|-+:?)+\|", line.strip())]
    assert heads == [table.line for _, table in PRINTED]


@pytest.mark.parametrize(("name", "table"), PRINTED, ids=caption)
def test_rows_and_cells_are_the_articles_own(name, table):
    ledger = LEDGERS[name]
    lines = lines_of(ledger)
    body = range(table.line + 2, table.line + 2 + len(table.rows))
    assert [row.line for row in table.rows] == list(body)
    assert not lines[body.stop - 1].startswith("|")
    for row in table.rows:
        head, *texts = cells_of(lines[row.line - 1])
        assert row.head == head
        for column, text in zip(table.columns, texts, strict=False):
            held = figures_of(wanted(row, column), ledger.figures)
            printed = [figure.printed for figure in held]
            assert [p for p in printed if p not in text] == []
            if row.metrics:
                figures = re.sub(r"/200|\(8 streams\)|\(0\.32\.0 control\)|FP8|DFlash", "", text)
                numbers = re.findall(r"\d[\d,]*(?:\.\d+)?", figures)
                assert sorted(numbers) == sorted(printed)


@pytest.mark.parametrize(("name", "table"), TABLES, ids=caption)
def test_every_scenario_of_a_table_is_published_or_run(name, table):
    run = {s for plan in plans().values() if plan.study.published == name for s in plan.scenarios}
    # The older text of the article on drafters stands in the file of another one.
    run |= plans()["drafters-on-sglang"].scenarios.keys()
    assert table.names("scenarios") <= LEDGERS[name].scenarios.keys() | run


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_shows_a_table_of_its_article(study):
    plan = plans()[study]
    tables = LEDGERS[plan.study.published].tables
    assert any(table.names("arms") & plan.arms.keys() for table in tables)


def test_a_head_that_the_article_lacks_is_found():
    ledger = LEDGERS["one-card"]
    text = "\n".join(lines_of(ledger))
    table = ledger.tables[1]
    row = table.rows[0].model_copy(update={"head": "poems"})
    changed = ledger.model_copy(update={"tables": [table.model_copy(update={"rows": [row]})]})
    [problem] = account_for(changed, text).problems
    assert (problem.path, problem.found) == ("tables: one stream, tok/s", "poems")


def test_a_table_of_an_unknown_arm_is_refused(tmp_path):
    source = (ROOT / "config/published/drafters-on-sglang.yaml").read_text(encoding="utf-8")
    folder = tmp_path / "config/published"
    folder.mkdir(parents=True)
    wrong = source.replace("{head: DSpark, arms: [dspark]}", "{head: DSpark, arms: [dsparc]}")
    (folder / "drafters-on-sglang.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ConfigError, match="did you mean dspark"):
        load_ledger(tmp_path, "drafters-on-sglang")
