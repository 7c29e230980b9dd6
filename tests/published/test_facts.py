"""Background facts: each stands in its quotation, and agrees with the published figure it names."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from specdock.plan.problems import ConfigError
from specdock.published.facts import FACTS, load_facts
from specdock.published.ledger import load_ledger
from specdock.published.refind import ledger_names

ROOT = Path(__file__).parents[2]


def test_the_facts_of_the_repository_are_sound():
    assert len(load_facts(ROOT)) == 13


def test_a_fact_from_an_article_agrees_with_the_ledger():
    ledgers = [load_ledger(ROOT, name) for name in ledger_names(ROOT)]
    figures = {figure.id: figure for ledger in ledgers for figure in ledger.figures}
    checked = 0
    for name, fact in load_facts(ROOT).items():
        file, _, figure_id = fact.address.partition("#")
        if not file.startswith("config/published/"):
            continue
        figure = figures[figure_id]
        assert file == f"config/published/{figure_id.partition('/')[0]}.yaml"
        assert (fact.value, fact.unit, fact.quotation) == (
            figure.value,
            figure.unit,
            figure.quotation,
        ), name
        checked += 1
    assert checked == 9


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": 4.9}, "the quotation does not hold 4.9"),
        ({"digits": 2}, "the quotation does not print 2 decimals"),
        ({"quotation": "4.8 " + "a b c d e f g h i j k l"}, "13 words are quoted"),
        ({"date": None}, "h200/memory-bandwidth.date"),
        ({"sorce": "NVIDIA"}, "did you mean source?"),
    ],
)
def test_a_faulty_fact_is_refused(tmp_path, change, told):
    facts = YAML().load(ROOT / FACTS)
    entry = dict(facts["h200/memory-bandwidth"]) | change
    (tmp_path / "config").mkdir()
    kept = {key: value for key, value in entry.items() if value is not None}
    YAML().dump({"h200/memory-bandwidth": kept}, tmp_path / FACTS)
    with pytest.raises(ConfigError) as caught:
        load_facts(tmp_path)
    assert told in str(caught.value)
