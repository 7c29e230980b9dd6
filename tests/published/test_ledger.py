"""The published ledgers: complete, found again word for word, and right in their arithmetic."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from specdock.plan.problems import ConfigError
from specdock.published.account import account_for
from specdock.published.arithmetic import possible_values, wrong_figures
from specdock.published.digests import (
    changed_since_found,
    cited_lines,
    digest_of,
    load_digests,
)
from specdock.published.ledger import Figure, Ledger, load_ledger
from specdock.published.refind import articles_folder, ledger_names

ROOT = Path(__file__).parents[2]
COUNTS = {"drafters-on-sglang": 105, "flash-next": 157, "one-card": 297}
NUMBERS = {"drafters-on-sglang": 271, "flash-next": 538, "one-card": 666}
LEDGERS = {name: load_ledger(ROOT, name) for name in ledger_names(ROOT)}

every_ledger = pytest.mark.parametrize("name", COUNTS)


def article_of(name: str) -> bytes:
    path = articles_folder(ROOT) / LEDGERS[name].article
    if not path.is_file():
        pytest.skip(f"{path} is absent: the article is no part of the repository")
    return path.read_bytes()


def without(ledger: Ledger, figure_id: str) -> Ledger:
    """The ledger with one figure forgotten."""
    passages = [
        passage.model_copy(update={"figures": kept})
        for passage in ledger.passages
        if (kept := [figure for figure in passage.figures if figure.id != figure_id])
    ]
    return ledger.model_copy(update={"passages": passages})


# Whole ledgers


def test_each_ledger_holds_as_many_figures_as_were_entered():
    assert {name: len(ledger.figures) for name, ledger in LEDGERS.items()} == COUNTS


@every_ledger
def test_every_arm_and_scenario_of_a_ledger_is_spoken_of(name):
    ledger = LEDGERS[name]
    spoken = {figure.arm for figure in ledger.figures}
    spoken |= {figure.baseline for figure in ledger.figures}
    assert set(ledger.arms) <= spoken
    unused = set(ledger.scenarios) - {figure.scenario for figure in ledger.figures}
    assert not unused


@every_ledger
def test_every_printed_ratio_follows_from_its_two_figures_or_says_why_not(name):
    assert wrong_figures(LEDGERS[name]) == []


def test_the_one_card_headlines_are_recomputed_not_trusted():
    figures = {figure.id: figure for figure in LEDGERS["one-card"].figures}
    headline = figures["one-card/headline/essays-32/ratio"]
    low, high = possible_values(headline, figures[headline.of], figures[headline.against])
    assert (round(low, 2), round(high, 2)) == (3.17, 3.19)


@every_ledger
def test_a_quotation_never_changes_without_the_article_at_hand(name):
    assert changed_since_found(LEDGERS[name], name, load_digests(ROOT).get(name)) == []


@every_ledger
def test_the_digests_cover_exactly_the_cited_lines(name):
    digest = load_digests(ROOT)[name]
    assert set(digest.lines) == cited_lines(LEDGERS[name])
    assert digest.numbers == NUMBERS[name]


# Against the articles


@every_ledger
def test_every_quotation_is_found_again_and_every_number_is_accounted_for(name):
    account = account_for(LEDGERS[name], article_of(name).decode("utf-8"))
    assert "\n".join(map(str, account.problems)) == ""
    assert account.numbers == account.figures + account.not_figures == NUMBERS[name]


@every_ledger
def test_the_article_and_its_cited_lines_have_the_recorded_digests(name):
    article, digest = article_of(name), load_digests(ROOT)[name]
    lines = article.decode("utf-8").split("\n")
    found = {n: hashlib.sha256(lines[n - 1].encode()).hexdigest() for n in digest.lines}
    assert found == digest.lines
    assert hashlib.sha256(article).hexdigest() == digest.article


@every_ledger
def test_every_figure_in_digits_is_needed(name):
    """Forgetting a figure leaves its number open, whatever quotations stand around it."""
    article, ledger = article_of(name).decode("utf-8"), LEDGERS[name]
    in_digits = [figure for figure in ledger.figures if figure.words is None]
    for figure in in_digits[:: max(1, len(in_digits) // 10)]:
        problems = account_for(without(ledger, figure.id), article).problems
        assert {p.path for p in problems} == {f"line {n}" for n in (figure.line, *figure.also)}


# A small article, to see each fault found

ARTICLE = "Plain ran at 60.0 tok/s and drafted at 150.0, 2.5x, on 8 streams.\nStill 150.0.\n"


@pytest.fixture
def small() -> dict:
    shared = {"unit": "tok/s", "metric": "output_rate", "kind": "measured_there", "line": 1}
    return {
        "article": "small.txt",
        "arms": {
            "plain": {"words": "Plain", "line": 1},
            "drafted": {"words": "drafted", "line": 1},
        },
        "scenarios": {"essays@8": {"words": "8 streams", "line": 1}},
        "passages": [
            shared
            | {
                "quotation": "ran at 60.0 tok/s and drafted at 150.0, 2.5x",
                "scenario": "essays@8",
                "figures": [
                    {"id": "small/plain", "value": 60.0, "arm": "plain"},
                    {"id": "small/drafted", "value": 150.0, "arm": "drafted", "also": [2]},
                    {
                        "id": "small/ratio",
                        "value": 2.5,
                        "unit": "x",
                        "form": "ratio",
                        "kind": "derived",
                        "arm": "drafted",
                        "of": "small/drafted",
                        "against": "small/plain",
                    },
                ],
            }
        ],
        "not_figures": [{"reason": "label of a level", "texts": ["8 streams"]}],
    }


def load(raw: dict, root: Path) -> Ledger:
    folder = root / "config/published"
    folder.mkdir(parents=True, exist_ok=True)
    YAML().dump(raw, folder / "small.yaml")
    return load_ledger(root, "small")


def figure(raw: dict, position: int) -> dict:
    return raw["passages"][0]["figures"][position]


def test_a_sound_ledger_accounts_for_all_numbers(small, tmp_path):
    ledger = load(small, tmp_path)
    account = account_for(ledger, ARTICLE)
    assert (account.problems, account.numbers, account.figures) == ([], 5, 4)
    assert wrong_figures(ledger) == []


def test_figures_inherit_the_keys_of_their_passage_and_the_articles_name(small, tmp_path):
    plain = load(small, tmp_path).figures[0]
    assert isinstance(plain, Figure)
    assert (plain.file, plain.line, plain.scenario, plain.decimals) == (
        "small.txt",
        1,
        "essays@8",
        1,
    )


def test_a_number_inside_anothers_quotation_is_not_accounted_for(small, tmp_path):
    del small["passages"][0]["figures"][2]
    [problem] = account_for(load(small, tmp_path), ARTICLE).problems
    assert problem.path == "line 1"
    assert problem.found.startswith("2.5 is in no figure")


def test_a_number_that_is_both_a_figure_and_none_is_refused(small, tmp_path):
    small["not_figures"].append({"reason": "speed", "texts": ["60.0 tok/s"]})
    [problem] = account_for(load(small, tmp_path), ARTICLE).problems
    assert problem.found == "60.0 is claimed by small/plain, not_figures"


def test_a_repeat_on_the_wrong_line_is_found(small, tmp_path):
    figure(small, 0)["also"] = [2]
    [problem] = account_for(load(small, tmp_path), ARTICLE).problems
    assert problem.path == "small/plain"


def test_an_altered_word_of_the_article_is_found(small, tmp_path):
    changed = ARTICLE.replace("drafted at", "guessed at")
    paths = {problem.path for problem in account_for(load(small, tmp_path), changed).problems}
    assert {"arms.drafted", "small/plain", "small/drafted", "small/ratio"} <= paths


def test_a_not_figure_that_the_article_lacks_is_found(small, tmp_path):
    small["not_figures"].append({"reason": "name", "texts": ["GSM8K"]})
    [problem] = account_for(load(small, tmp_path), ARTICLE).problems
    assert problem.found == "GSM8K"


def test_a_ratio_that_does_not_follow_is_found(small, tmp_path):
    figure(small, 2).update(of="small/plain", against="small/drafted")
    [problem] = wrong_figures(load(small, tmp_path))
    assert problem.path == "small/ratio"
    assert problem.found == "2.5, where its two figures give 0.3495 to 0.4505"


def test_a_disagreement_that_is_none_is_found(small, tmp_path):
    figure(small, 2)["disagrees"] = "the ratio is wrong"
    [problem] = wrong_figures(load(small, tmp_path))
    assert problem.hint == "remove `disagrees`"


def test_a_changed_quotation_is_noticed_without_the_article(small, tmp_path):
    digest = digest_of(load(small, tmp_path), ARTICLE.encode(), 5, 4)
    figure(small, 0)["note"] = "a note may change"
    assert changed_since_found(load(small, tmp_path), "small", digest) == []
    small["passages"][0]["quotation"] = "at 60.0 tok/s and drafted at 150.0, 2.5x"
    assert len(changed_since_found(load(small, tmp_path), "small", digest)) == 1


@pytest.mark.parametrize(
    ("position", "change", "told"),
    [
        (0, {"arm": "plian"}, "did you mean plain?"),
        (0, {"scenario": "essays@9"}, "did you mean essays@8?"),
        (0, {"value": 61.0}, "the quotation must hold 61 exactly once"),
        (0, {"words": "sixty"}, "'sixty' is not in the quotation"),
        (0, {"metric": "speed"}, "small.yaml: passages.0.figures.0.metric"),
        (0, {"quotation": "60.0 " + "a b c d e f g h i j k l"}, "13 words are quoted"),
        (0, {"id": "small/drafted"}, "given 2 times"),
        (0, {"id": "other/plain"}, "small/..."),
        (2, {"against": None}, "give both `of` and `against`, or neither"),
        (2, {"form": "value"}, "need a form other than value"),
        (2, {"of": "small/dafted"}, "did you mean small/drafted?"),
    ],
)
def test_a_faulty_figure_is_refused_with_what_is_allowed(small, tmp_path, position, change, told):
    entry = figure(small, position)
    entry.update(change)
    small["passages"][0]["figures"][position] = {k: v for k, v in entry.items() if v is not None}
    with pytest.raises(ConfigError) as caught:
        load(small, tmp_path)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["8", "2.5", "one"])
def test_a_bare_number_or_no_number_is_no_reason_everywhere(small, tmp_path, text):
    small["not_figures"].append({"reason": "none", "texts": [text]})
    with pytest.raises(ConfigError, match=r"not_figures\.1"):
        load(small, tmp_path)


def test_ids_name_their_file_so_that_all_ledgers_can_be_joined():
    ids = Counter(figure.id for ledger in LEDGERS.values() for figure in ledger.figures)
    assert max(ids.values()) == 1
