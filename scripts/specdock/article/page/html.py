"""The article as one HTML file: Markdown rendered, every number a link that opens its drawer."""

import base64
import re
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from specdock.article.figures import Figure, Placed
from specdock.article.ledger import Entry
from specdock.article.page.markdown import note_text
from specdock.article.printed import BLOCK, TOKEN

_NAME = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class Body:
    """The article's HTML before and from its first section, the section headings as (anchor,
    text), and the endnotes as (id, text)."""

    before: Markup
    after: Markup
    headings: list[tuple[str, Markup]]
    notes: list[tuple[str, Markup]]


def as_html(text: str, entries: dict[int, Entry], figures: list[Placed]) -> Body:
    """Renders Markdown and fills its tokens; raw HTML in it is shown as text."""
    parser = MarkdownIt("commonmark", {"html": False, "typographer": True})
    parser.enable(["table", "smartquotes"])
    tokens = parser.parse(text)
    headings = _anchor_headings(tokens)
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="wide" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>")

    by_id = {entry.number.id: entry for entry in entries.values()}

    def figure(match: re.Match[str]) -> str:
        return _figure(figures[int(match.group(1))], parser, by_id)

    def number(match: re.Match[str]) -> str:
        return _number(entries[int(match.group(1))])

    html = re.sub(rf"<p>{BLOCK.pattern}</p>", figure, html)
    html = TOKEN.sub(number, html)
    shown = [(anchor, Markup(TOKEN.sub(number, title))) for anchor, title in headings]
    in_order = sorted(entries.values(), key=lambda entry: entry.note)
    notes = [(entry.number.id, Markup(escape(note_text(entry)))) for entry in in_order]
    before, section, after = html.partition("<h2")
    return Body(Markup(before), Markup(section + after), shown, notes)


def _number(entry: Entry) -> str:
    number = entry.number
    kind = "words" if number.words and number.value is None else number.form.shape
    if number.kind == "estimate" and kind == "words":
        kind = "absent"
    exact = f' data-v="{number.value!r}"' if number.value is not None else ""
    value, bracket, interval = entry.printed.partition(" (")
    small = f" <small>({escape(interval)}</small>" if bracket and kind == "both" else ""
    shown = escape(value) if small else escape(entry.printed)
    return (
        f'<a class="n {kind}" href="{escape(number.address)}" data-n="{escape(number.id)}"'
        f' data-note="{entry.note}"{exact}>'
        f"{shown}{small}</a>"
    )


def _figure(placed: Placed, parser: MarkdownIt, entries: dict[str, Entry]) -> str:
    figure = placed.figure
    caption = parser.renderInline(str(placed.caption).strip())
    panels = "".join(f'<div class="panel">{svg}</div>' for svg in figure.panels)
    return (
        f'<figure id="{figure.name}" aria-label="{escape(figure.title)}">'
        f'<div class="panels">{panels}</div><figcaption>{caption}</figcaption>'
        f"{_plotted(figure, entries)}</figure>"
    )


def _plotted(figure: Figure, entries: dict[str, Entry]) -> str:
    """The plotted numbers as a table that unfolds, and as a file."""
    data = base64.b64encode(figure.data.encode()).decode()
    rows = "".join(
        f"<tr><td>{escape(panel.title)}</td><td>{escape(mark.arm)}</td>"
        + "".join(
            f'<td style="text-align:right">{_number(entries[number.id])}</td>'
            for number in (mark.number, mark.x)
            if number
        )
        + "</tr>"
        for panel in figure.plotted
        for mark in panel.marks
    )
    heads = "".join(f'<th style="text-align:right">{escape(head)}</th>' for head in figure.heads)
    return (
        '<details class="data"><summary>Data</summary><div class="wide" tabindex="0"><table>'
        f"<thead><tr><th>scenario</th><th>arm</th>{heads}</tr></thead><tbody>{rows}</tbody>"
        f'</table></div><a download="{figure.name}.csv" href="data:text/csv;base64,{data}">'
        "Download as CSV</a></details>"
    )


def _anchor_headings(tokens: list[Token]) -> list[tuple[str, str]]:
    """Gives every section heading an anchor made of its words; returns anchors with inner HTML."""
    found = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag == "h2":
            anchor = _NAME.sub("-", TOKEN.sub("", inline.content).lower()).strip("-")
            opening.attrSet("id", anchor)
            found.append((anchor, str(escape(inline.content))))
    return found
