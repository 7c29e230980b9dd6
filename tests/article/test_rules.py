import pytest
from conftest import REPOSITORY

from specdock.article.rules import Rulebook, RuleUnknown

RULES = """rule measure:
    input:
        "results/{study}/plan.json",
    output:
        requests="results/{study}/raw/{arm}/seed-{seed}/{fp}/requests.parquet",
    shell:
        "echo results/{study}/tables/cells.parquet"


rule tables:
    output:
        cells="results/{study}/tables/cells.parquet",
"""


@pytest.fixture
def rulebook(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/runs.smk").write_text(RULES, encoding="utf-8")
    (tmp_path / "Snakefile").write_text('rule all:\n    input:\n        "x"\n', encoding="utf-8")
    return Rulebook(tmp_path)


def test_a_file_leads_to_the_rule_whose_output_it_is(rulebook):
    raw = rulebook.maker("results/demo/raw/plain/seed-1/abc/requests.parquet")
    assert (raw.name, raw.file, raw.line) == ("measure", "rules/runs.smk", 1)
    assert rulebook.maker("results/demo/tables/cells.parquet").line == 10


def test_inputs_and_commands_make_nothing(rulebook):
    with pytest.raises(RuleUnknown, match=r"results/demo/plan.json: no rule makes it"):
        rulebook.maker("results/demo/plan.json")


def test_the_repositorys_rules_make_what_the_article_cites():
    rules = Rulebook(REPOSITORY)
    cited = ["plan.json", "tables/cells.parquet", "tables/sessions.parquet"]
    cited += ["claims/estimates.parquet", "claims/comparisons.parquet", "claims/gates.parquet"]
    cited += [
        f"raw/a/seed-1/f/{name}" for name in ("requests.parquet", "manifest.json", "server.log")
    ]
    assert all(rules.maker(f"results/demo/{file}").line for file in cited)
