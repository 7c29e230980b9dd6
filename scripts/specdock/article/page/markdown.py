"""The article as Markdown for a repository page: a number is a link to its note at the end."""

from specdock.article.figures import Placed
from specdock.article.ledger import Entry
from specdock.article.printed import BLOCK, TOKEN, as_markdown_text


def as_markdown(text: str, entries: dict[int, Entry], figures: list[Placed]) -> str:
    """Fills tokens of the rendered template; `entries` are keyed by the index in their token."""

    def figure(index: int) -> str:
        placed = figures[index]
        name, title = placed.figure.name, placed.figure.title
        caption = f"{str(placed.caption).strip()} [Data](figures/{name}.csv)"
        return f"![{title}](figures/{name}.svg)\n\n*{caption}*\n"

    def number(index: int) -> str:
        entry = entries[index]
        return f"[{as_markdown_text(entry.printed)}](#n{entry.note})"

    text = BLOCK.sub(lambda match: figure(int(match.group(1))), text)
    text = TOKEN.sub(lambda match: number(int(match.group(1))), text)
    notes = sorted(entries.values(), key=lambda entry: entry.note)
    lines = [
        f'<a id="n{entry.note}"></a>\n{entry.note}. {as_markdown_text(note_text(entry))}'
        for entry in notes
    ]
    return text.rstrip() + "\n\n## Notes\n\n" + "\n".join(lines) + "\n"


def note_text(entry: Entry) -> str:
    """One number's endnote: what it is, from how much, and where it stands."""
    number, chain = entry.number, entry.chain
    parts = [f"{number.title}: {entry.printed}"]
    if number.low is not None and number.form.shape == "value" and number.level:
        form = type(number.form)(
            "interval", number.form.offset, number.form.scale, number.form.signed
        )
        ends = form.text(None, number.low, number.high, entry.digits)
        parts.append(f"{number.level:.0%} interval {ends}".replace("%", " %"))
    if number.seeds is not None and number.kind != "session":
        parts.append(f"starts: {number.seeds}")
    if number.requests is not None:
        parts.append(f"requests: {number.requests:,}")
    if number.reason:
        parts.append(number.reason)
    if number.source:
        parts.append(number.source)
    if number.synthetic:
        parts.append("synthetic")
    parts.append(f"{chain.source.file}, {chain.source.rows[0]}")
    return "; ".join(parts) + "."
