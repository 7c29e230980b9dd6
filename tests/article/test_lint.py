import pytest
from conftest import TEMPLATES

from specdock.article.lint import LintFailed, denied, lint_figure
from specdock.article.templates import lint_article


def lint(tmp_path, text, **more):
    (tmp_path / "article.md.j2").write_text(text, encoding="utf-8")
    for name, content in more.items():
        (tmp_path / f"{name}.j2").write_text(content, encoding="utf-8")
    return lint_article(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "it ran at 303.3 tok/s",
        "vLLM v0.32 was used",
        "`essays@8`",
        "twice the rate",
        "half of it",
        "a dozen prompts",
        "Two arms",
        "one stream",
        "it is faster",
        "the most we saw",
        "lossless output",
        "without no loss, there is no loss",
        "longer than before",
        "quicker-than-plain",
        "as fast as plain",
        "inside the noise",
        "a third of them",
        "about ½ of it",
        "x² grows",
        "https://example.org/2602.06036",
        "- 3 items",
    ],
)
def test_figures_number_words_and_comparisons_are_denied(text):
    assert list(denied(text))


@pytest.mark.parametrize(
    "text",
    [
        "1. a list item\n2. another item",
        "it is a question of taste rather than of speed",
        "a third party's rebuild",
        "the second model is on the card",
        "everyone was honest about everything",
        "someone; none; anyone; often; weight; tense",
    ],
)
def test_plain_words_pass(text):
    assert not list(denied(text))


def test_a_finding_has_file_and_line(tmp_path):
    report = lint(tmp_path, "words\n{% if true %}\nit is faster\n{% endif %}\n")
    assert [str(finding) for finding in report.findings] == [
        "article/article.md.j2:3: the template types “faster”"
    ]
    with pytest.raises(LintFailed, match="waive: reason"):
        report.require_clean()


def test_text_inside_bindings_is_a_name_and_text_inside_macros_is_printed(tmp_path):
    macro = "{% macro say(words) %}{{ words }}{% endmacro %}"
    bound = '{{ n("output_rate", role="candidate", scenario="essays@8") }}'
    assert not lint(tmp_path, bound).findings
    report = lint(tmp_path, macro + '{{ say("twice as much") }}')
    assert "an expression types “twice”" in str(report.findings[0])


@pytest.mark.parametrize(
    "expression",
    [
        "{{ 12 }}",
        "{{ 3 * x }}",
        "{{ [1] }}",
        "{{ 'v0.32' }}",
        '{% set x = "faster" %}{{ x }}',
        '{{ "best" if true else "" }}',
    ],
)
def test_constants_that_may_be_printed_are_denied(tmp_path, expression):
    assert "an expression types" in str(lint(tmp_path, expression).findings[0])


def test_conditions_and_indices_may_hold_constants(tmp_path):
    text = '{% for x in arms()[:3] if x == "faster" or x[0] == 2 %}{{ label(x) }}{% endfor %}'
    assert not lint(tmp_path, text).findings


@pytest.mark.parametrize(
    "text",
    [
        "it is faster {# waive: quoted from the paper #}\n",
        "{# waive: quoted from the paper #}\nit is faster\n",
    ],
)
def test_a_waiver_lets_its_line_through_and_is_listed(tmp_path, text):
    report = lint(tmp_path, text)
    assert not report.findings
    assert [(f.what, reason) for f, reason in report.waived] == [
        ("the template types “faster”", "quoted from the paper")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("it is faster {# waive: #}\n", "gives no reason"),
        ("it is plain {# waive: because #}\n", "lets nothing through"),
        ("{# waive: because #}\nplain\nit is faster\n", "the template types “faster”"),
    ],
)
def test_a_waiver_needs_a_reason_and_something_to_waive(tmp_path, text, message):
    assert any(message in str(finding) for finding in lint(tmp_path, text).findings)


def test_what_is_declared_and_not_used_fails(tmp_path):
    text = '{% set rate = n("output_rate") %}{% macro table() %}{% endmacro %}'
    findings = [str(f) for f in lint(tmp_path, text, orphan="words").findings]
    assert any("rate is set and never used" in finding for finding in findings)
    assert any("the macro table is never called" in finding for finding in findings)
    assert any("orphan.j2:1: no template includes" in finding for finding in findings)


def test_the_text_of_html_templates_is_linted_and_their_markup_is_not(tmp_path):
    (tmp_path / "theme").mkdir()
    page = '<meta content="width=1"><h1>{{ title }}</h1>\n<p>the best page</p>'
    (tmp_path / "theme/page.html.j2").write_text(page, encoding="utf-8")
    findings = [str(f) for f in lint(tmp_path, "words").findings]
    assert findings == ["article/theme/page.html.j2:2: the template types “best”"]


DRAWING = """<svg xmlns="http://www.w3.org/2000/svg">
<g id="xtick_1"><text>20</text></g>
<text>drafter-2 on essays@8</text>
<text>drafter-2 is 3 times faster</text>
</svg>"""


def test_the_words_of_a_figure_are_linted_but_not_its_ticks_and_names():
    findings = lint_figure("figures/x.svg", DRAWING, ["drafter-2", "essays@8"])
    assert [str(f) for f in findings] == [
        "figures/x.svg:4: the drawing types “3”",
        "figures/x.svg:4: the drawing types “faster”",
    ]


def test_the_repositorys_own_templates_are_clean_and_waive_little():
    report = lint_article(TEMPLATES)
    report.require_clean()
    assert {finding.line for finding, _ in report.waived} and len(report.waived) < 20
