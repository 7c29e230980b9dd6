import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TEMPLATES
from synthetic_study import SyntheticStudy

from specdock.article.printed import TemplateError
from specdock.article.render import render
from specdock.article.study import Study, StudyIncomplete
from specdock.tables.schema import METRICS


def number_of(register, number_id):
    number = register.find(number_id)
    assert number is not None, [n.id for n in register.numbers]
    return number


def test_a_number_is_the_claims_value_with_its_interval_and_cells(fill, won):
    text, register = fill('{{ n("output_rate", role="candidate", scenario="code@1") }}')
    number = number_of(register, text.strip())
    row = won.study.estimates["output_rate", "drafter", "code@1"]
    assert (number.value, number.low, number.high) == (row["value"], row["low"], row["high"])
    assert set(number.cells) == set(row["cells"])
    assert number.definition == METRICS["output_rate"].definition
    assert number.synthetic


def test_a_role_and_its_arm_name_the_same_number(fill):
    text, register = fill(
        '{{ n("output_rate", role="candidate", scenario="code@1") }} '
        '{{ n("output_rate", arm="drafter", scenario="code@1") }}'
    )
    first, second = text.split()
    assert first == second == "output_rate/drafter/code@1"
    assert len(register.numbers) == 1


@pytest.mark.parametrize(
    ("binding", "words", "reason"),
    [
        ('n("output_rate", role="served", scenario="code@1")', "not run", "no cell"),
        ('n("output_rate", arm="ngram-matched", scenario="sums@1")', "not run", "no cell"),
        (
            'n("output_rate", arm="ngram-matched", scenario="code@1")',
            "unusable",
            "repetition loops",
        ),
        ('n("al_committed", arm="plain", scenario="code@1")', "n/a", "no draft tokens"),
        ('ratio("output_rate", of="served", to="plain", scenario="code@1")', "not run", ""),
        ('setting("serve.request_slots", role="served")', "not run", ""),
        ('started("ready_after", role="served")', "not run", ""),
        ('setting("serve.batch_tokens", role="candidate")', "not set", ""),
        ('evidence("nothing", role="candidate")', "not in the log", ""),
        (
            'verdict("output_rate", of="drafter", against="plain", scenario="code@1",'
            ' form="seeds_to_decide")',
            "n/a",
            "",
        ),
    ],
)
def test_what_the_data_lack_is_said_in_words_with_its_reason(fill, binding, words, reason):
    _, register = fill("{{ " + binding + " }}")
    assert register.numbers[0].text(0) == words
    assert reason in register.numbers[0].reason


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('n("output_rat", role="candidate", scenario="code@1")', "did you mean output_rate?"),
        ('n("output_rate", role="candidat", scenario="code@1")', "did you mean candidate?"),
        ('n("output_rate", arm="drafters", scenario="code@1")', "did you mean drafter?"),
        ('n("output_rate", role="candidate", scenario="code@2")', "did you mean code@1?"),
        ('n("output_rate", role="candidate", scenario="code@1", form="intervall")', "interval"),
        ('n("output_rate", scenario="code@1")', "give an arm or a role"),
        ('ratio("accuracy", of="candidate", to="incumbent", scenario="sums@1")', "difference"),
        ('fact("h200/memry")', "unknown fact in config/facts.yaml"),
        ('published("x/y")', "unknown published figure"),
        ('setting("serve.memory", role="candidate")', "unknown setting"),
        ('setting("bands.output_rate")', "unknown setting"),
        ('started("ready_afer", role="candidate")', "did you mean ready_after?"),
        ('count("cellz")', "did you mean cells?"),
        ('figure("nothing", caller=none)', "unknown figure"),
        ("undefined_name", "undefined_name"),
    ],
)
def test_a_name_that_nothing_knows_fails_with_its_line(fill, expression, message):
    with pytest.raises(TemplateError) as error:
        fill("words\n\n{{ " + expression + " }}\n")
    assert "article.md.j2:3" in str(error.value)
    assert message in str(error.value)


def test_a_role_of_several_arms_must_be_looped_over(fill, tmp_path):
    study = SyntheticStudy(roles={"reference": "plain", "candidate": ["ngram", "drafter"]})
    loaded = Study(study.write(tmp_path / "root"), tmp_path / "root")
    with pytest.raises(TemplateError, match="played by 2 arms"):
        fill('{{ n("output_rate", role="candidate", scenario="code@1") }}', loaded)
    text, _ = fill('{% for arm in arms("candidate") %}{{ label(arm) }};{% endfor %}', loaded)
    assert text.strip() == "ngram;drafter;"


@pytest.mark.parametrize(
    "text",
    [
        "{% set x = 12 %}{{ x }}",
        '{% set x = "twice" %}{{ x }}',
        "{{ arms() | length }}",
        "{{ scenarios()[0].id }}",
        "{{ scenarios()[0].spec }}",
        "{{ arms() | first }}",
        '{{ count("seeds").value * 4 }}',
    ],
)
def test_only_bindings_print_figures(fill, text):
    with pytest.raises(TemplateError, match=r"article\.md\.j2:1: .*no binding made"):
        fill(text)


def test_a_number_that_is_made_and_not_printed_fails(fill):
    with pytest.raises(TemplateError, match=r"article.md.j2:1: .*made and never printed"):
        fill('{% set rate = n("output_rate", role="candidate", scenario="code@1") %}words')


def test_a_number_used_in_a_condition_alone_is_used(fill):
    text, _ = fill('{% if count("seeds").value > 1 %}several{% endif %}')
    assert text.strip() == "several"


def test_verdicts_are_words_of_the_metric_and_can_be_asked(fill, won):
    source = (
        '{{ verdict("output_rate", of="candidate", against="incumbent", scenario="code@1") }}|'
        '{{ verdict("output_rate", of="reference", against="incumbent", scenario="code@1",'
        ' form="than") }}|'
        '{{ "yes" if verdict("output_rate", of="candidate", against="incumbent",'
        ' scenario="code@1").among("better") else "no" }}'
    )
    text, register = fill(source)
    words = [register.find(part).words for part in text.strip().split("|")[:2]]
    assert words == ["faster", "slower than"]
    assert text.strip().endswith("yes")


def test_a_tally_sorts_scenarios_by_verdict_and_counts_them(fill):
    source = (
        '{% set tally = verdicts("output_rate", of="candidate", against="incumbent") %}'
        '{{ tally.all("better") }}'
    )
    with pytest.raises(TemplateError, match="no binding made"):
        fill(source)
    text, register = fill(
        '{% set tally = verdicts("output_rate", of="candidate", against="matched") %}'
        "{{ listing(tally.scenarios()) }}|{{ tally.count() }}"
    )
    assert text.startswith("essays, 1 stream; essays, 4 streams|")
    assert register.numbers[0].value == 2


def test_an_unknown_verdict_in_a_condition_fails(fill):
    with pytest.raises(TemplateError, match="unknown verdict"):
        fill('{% if verdicts("output_rate", of="plain", against="ngram").any("wins") %}{% endif %}')


def test_counts_follow_their_filters_to_the_cells(fill, won):
    text, register = fill(
        '{{ count("unusable") }} {{ count("cells", arm="ngram-matched") }}'
        ' {{ count("requests", scenario="code@1") }} {{ count("cells", code="synthetic") }}'
    )
    unusable, of_arm, requests, synthetic = (register.find(part) for part in text.split())
    cells = won.study.cells.values()
    assert unusable.value == sum(not cell["usable"] for cell in cells) == 3
    assert of_arm.value == len(of_arm.cells) == 9
    assert requests.value == sum(c["requests"] for c in cells if c["scenario"] == "code@1")
    assert synthetic.value == len(won.study.cells)


def test_settings_print_as_they_were_written(fill):
    text, register = fill(
        '{{ setting("band.output_rate", form="percent") }}'
        ' {{ setting("serve.memory_utilization", role="candidate") }} {{ setting("seeds") }}'
        ' {{ setting("fixed_length", scenario="code@1") }}'
    )
    numbers = [register.find(part) for part in text.split()]
    assert [n.text(n.digits) for n in numbers] == ["3 %", "0.85", "1, 2, 3", "no"]


def test_an_order_of_starts_that_no_seed_drew_is_said(tmp_path):
    folder = SyntheticStudy().write(tmp_path)
    said = "did not follow the order that the seeds draw"

    def article() -> str:
        render(Study(folder, tmp_path), TEMPLATES, folder / "article")
        return (folder / "article/article.md").read_text("utf-8")

    assert said not in article()
    path = folder / "tables/sessions.parquet"
    table = pq.read_table(path)
    backwards = table["started_at"].take(pa.array(range(table.num_rows - 1, -1, -1)))
    place = table.schema.get_field_index("started_at")
    pq.write_table(table.set_column(place, table.schema.field(place), backwards), path)
    assert said in article()


def test_facts_come_with_their_quotation(tmp_path, fill):
    study = SyntheticStudy()
    folder = study.write(tmp_path / "root")
    facts = """card/memory:
  title: memory of a card
  value: 96
  unit: GB
  source: a maker's page
  address: https://example.org
  date: March 2026
  quotation: "it has 96 GB of memory"
"""
    (tmp_path / "root/config/facts.yaml").write_text(facts, encoding="utf-8")
    text, register = fill('{{ fact("card/memory") }}', Study(folder, tmp_path / "root"))
    number = register.find(text.strip())
    assert number.text(number.digits) == "96 GB"
    assert number.quotation == "it has 96 GB of memory"


def test_acceptance_never_mixes_definitions_in_a_scenario(tmp_path, fill):
    root = tmp_path / "root"
    study = Study(SyntheticStudy().write(root), root)
    del study.estimates["al_committed", "ngram", "code@1"]
    text, _ = fill(
        '{{ metric(acceptance("code@1"), "definition") }} '
        '{{ metric(acceptance("essays@1"), "definition") }}',
        study,
    )
    assert text.split() == ["al.counter", "al.committed"]


def test_data_cannot_smuggle_markup_or_tokens_into_the_text(fill, tmp_path):
    root = tmp_path / "root"
    study = Study(SyntheticStudy(note="[x](y) \ue0000\ue001 <b> *z*").write(root), root)
    text, _ = fill('{% for arm in arms("candidate") %}{{ note(arm) }}{% endfor %}', study)
    assert text.strip() == r"\[x\](y) 0 \<b\> \*z\*"


def test_a_study_without_its_claims_says_which_file_is_missing(tmp_path):
    folder = SyntheticStudy().write(tmp_path)
    (folder / "claims/gates.parquet").unlink()
    with pytest.raises(StudyIncomplete, match=r"results/synthetic/claims/gates.parquet"):
        render(Study(folder, tmp_path), TEMPLATES, folder / "article")
