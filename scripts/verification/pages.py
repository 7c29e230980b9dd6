"""Pages: the article in both forms, its drawers, figures as data, and the audit page, against the
ledger and the tables."""

import base64
import csv
import html
import json
import re
import shlex
from collections.abc import Iterator
from urllib.parse import quote

from verification.numbers import decimal, verdict_word
from verification.study import BrokenLink, Row, Study, must_equal

ANCHOR = re.compile(
    r'<a class="n [^"]*" href="#n-([^"]*)" data-n="([^"]*)" data-note="(\d+)"'
    r'(?: data-v="([^"]*)")?>(.*?)</a>',
    re.DOTALL,
)
LINK = re.compile(r"\[((?:[^\]\\]|\\.)*)\]\(#n(\d+)\)")


def check_pages(study: Study) -> Iterator[str]:
    """Checks article.html, article.md, the figures' data and audit.html."""
    page, markdown = study.text("article/article.html"), study.text("article/article.md")
    numbers = {number["id"]: number for number in study.numbers}
    places = check_anchors(study, page, numbers)
    check_links(study, markdown)
    check_notes(study, page, markdown)
    check_prose(study, page, markdown)
    check_drawers(study, page, numbers)
    check_figures(study, page, numbers)
    yield f"{places} places of the article show what the ledger prints, in HTML and in Markdown"
    rows = check_audit(study)
    yield f"{rows} rows of the audit page are those of the ledger, the claims and the cells"
    yield "figures are checked as data; their drawing, and words around numbers, by the seal alone"


def check_anchors(study: Study, page: str, numbers: dict[str, Row]) -> int:
    """Every number in the HTML shows its text, its exact value and its note."""
    where, seen = f"{study.shown}/article/article.html", set()
    found = ANCHOR.findall(page)
    if page.count('<a class="n ') != len(found):
        raise BrokenLink(f"{where}: some number has not the form of a number")
    for address, name, note, exact, text in found:
        number = numbers.get(html.unescape(name))
        if number is None:
            raise BrokenLink(f"{where}: {html.unescape(name)} is not in the ledger")
        shown = {
            "printed": html.unescape(re.sub(r"<[^>]*>", "", text)),
            "note": int(note),
            "value": float(exact) if exact else None,
        }
        must_equal(f"{where}, {number['id']}", shown, number)
        if html.unescape(address) != quote(number["id"], safe="/@:=+"):
            raise BrokenLink(f"{where}, {number['id']}: its address is #n-{address}")
        seen.add(number["id"])
    for name in numbers.keys() - seen:
        raise BrokenLink(f"{where}: {name} of the ledger is not on the page")
    return len(found)


def check_links(study: Study, markdown: str) -> None:
    """Every number in the Markdown shows its text."""
    printed = {number["note"]: number["printed"] for number in study.numbers}
    for text, note in LINK.findall(markdown):
        if unescaped(text) != " ".join(printed.get(int(note), "").split()):
            stated = printed.get(int(note))
            raise BrokenLink(
                f"{study.shown}/article/article.md, note {note}: shows {unescaped(text)!r},"
                f" the ledger prints {stated!r}"
            )


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def check_notes(study: Study, page: str, markdown: str) -> None:
    """Every endnote says of its number what the ledger says, in both forms of the article."""
    listed = re.findall(r'<li id="n-([^"]*)">(.*?)</li>', page, re.DOTALL)
    in_html = {html.unescape(name): html.unescape(text) for name, text in listed}
    notes = markdown.partition("\n## Notes\n")[2]
    found = re.findall(r'^<a id="n(\d+)"></a>\n(\d+)\. (.*)$', notes, re.MULTILINE)
    in_markdown = {int(note): unescaped(text) for anchor, note, text in found if anchor == note}
    for number in study.numbers:
        allowed = [" ".join(note_of(number, sign).split()) for sign in ("", "+")]
        shown = {
            "html": " ".join(in_html.get(number["id"], "no note").split()),
            "md": in_markdown.get(number["note"], "no note"),
        }
        for form, text in shown.items():
            if text not in allowed:
                raise BrokenLink(
                    f"{study.shown}/article/article.{form}, note {number['note']}: is {text!r},"
                    f" from the ledger follows {allowed[0]!r}"
                )


def note_of(number: Row, sign: str) -> str:
    """The endnote of a number; `sign` stands before the positive ends of a signed interval."""
    parts = [f"{number['title']}: {number['printed']}"]
    if number["low"] is not None and number["shape"] == "value" and number["level"]:
        ends = [decimal(number, number[end]) for end in ("low", "high")]
        low, high = (end if end[0] == "−" else sign + end for end in ends)
        parts.append(f"{100 * number['level']:.0f} % interval {low} to {high}")
    if number["seeds"] is not None and number["kind"] != "session":
        parts.append(f"starts: {number['seeds']}")
    if number["requests"] is not None:
        parts.append(f"requests: {number['requests']:,}")
    parts += [number[name] for name in ("reason", "cited") if number[name]]
    parts += ["synthetic"] if number["synthetic"] else []
    parts.append(f"{number['source']['file']}, {number['source']['rows'][0]}")
    return "; ".join(parts) + "."


def check_prose(study: Study, page: str, markdown: str) -> None:
    """Both forms of the article have the same figures in the same order, also outside numbers."""
    main = re.search(r"<main>(.*)</main>", page, re.DOTALL)[1]
    for left_out in ("nav", "svg", "details"):
        main = re.sub(rf"<{left_out}\b.*?</{left_out}>", "", main, flags=re.DOTALL)
    in_html = html.unescape(re.sub(r"<[^>]*>", "", main))
    text = markdown.partition("\n## Notes\n")[0]
    text = LINK.sub(r"\1", re.sub(r"!\[.*?\]\(.*?\)|\[Data\]\(.*?\)", "", text))
    figures = (re.findall(r"\d+", part) for part in (in_html, text))
    for place, (own, other) in enumerate(zip(*figures, strict=False), 1):
        if own != other:
            raise BrokenLink(
                f"{study.shown}/article: figure {place} is {own} in article.html and {other} in"
                " article.md"
            )


def data_block(page: str, name: str) -> dict:
    """The JSON in a script element of a page."""
    return json.loads(re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def check_drawers(study: Study, page: str, numbers: dict[str, Row]) -> None:
    """What the page's drawers know of numbers, files, cells and engine starts."""
    data, where = data_block(page, "data"), f"{study.shown}/article/article.html, drawer"
    words = data["words"]
    hashes = {
        link["file"]: link["sha256"]
        for number in study.numbers
        for link in (number["source"], *number["tables"], *number["raw"])
    }
    if data["numbers"].keys() != numbers.keys():
        raise BrokenLink(f"{where}: its numbers are not those of the ledger")
    plain = ("printed", "note", "title", "kind", "value", "low", "high", "level", "unit", "seeds")
    for name, shown in data["numbers"].items():
        number = numbers[name]
        for key in (*plain, "requests", "synthetic", "quotation", "cited"):
            # The page leaves out what is empty or false.
            left_out = number[key] == "" or number[key] is False
            source = {key: None if left_out else number[key]}
            must_equal(f"{where} of {name}", {key: shown.get(key)}, source)
        for key in ("definition", "method", "reason"):
            said = words[shown[key] - 1] if key in shown else ""
            must_equal(f"{where} of {name}", {key: said}, number)
        file, row = shown["source"]
        source = {"file": data["files"][file][0], "rows": [row]}
        must_equal(f"{where} of {name}", source, number["source"])
    for file, digest, _ in data["files"]:
        must_equal(f"{where}, {file}", {"sha256": digest}, {"sha256": hashes.get(file)})
    for cell in data["cells"]:
        check_strip(study, where, cell)
    for start in data["sessions"]:
        row = study.sessions[start["name"]]
        shown = {
            "engine": start["engine"],
            "engine_version": start["version"],
            "argv": shlex.split(words[start["command"] - 1]),
            "lock_sha256": start["lock"],
            **{key: start[key] for key in ("target", "drafter", "commit", "dirty")},
            "log_file": start["log"],
            "evidence": [[f, line, words[w - 1] if w else ""] for f, line, w in start["evidence"]],
        }
        row = row | {"evidence": [[i["fact"], i["line"], i["text"]] for i in row["evidence"]]}
        must_equal(f"{where} of {start['name']}", shown, row)


def check_strip(study: Study, where: str, shown: Row) -> None:
    """The few requests that a drawer shows of a cell, and its answer."""
    key = ("arm", "scenario", "seed", "usable")
    cell = next(c for c in study.cells.values() if all(c[k] == shown[k] for k in key))
    known: dict[str, set[float]] = {}
    for row in study.requests_of[cell["cell"]]:
        tokens, steps = row["completion_tokens"], row["steps"]
        of_request = {
            "request_rate": 1000 * tokens / row["latency"],
            "acceptance": (tokens - 1) / steps if steps else None,
            **{name: row[name] for name in ("ttft", "tpot", "latency")},
        }
        for name, value in of_request.items():
            if value is not None:
                known.setdefault(name, set()).add(float(f"{value:.4g}"))
    place = f"{where} of {cell['arm']}, {cell['scenario']}, seed {cell['seed']}"
    for name, values in shown["values"].items():
        for value in values:
            if value not in known[name]:
                raise BrokenLink(f"{place}: no request has {name} {value}")
    if shown["text"]:
        row = next(row for row in study.requests_of[cell["cell"]])
        answer = study.raw_row(row["raw_file"], row["raw_row"])
        about = {"prompt": answer["prompt_id"], "text": answer["text"][: len(shown["text"])]}
        must_equal(place, {name: shown[name] for name in about}, about)


def check_figures(study: Study, page: str, numbers: dict[str, Row]) -> None:
    """The figures' data are numbers of the ledger, and the page offers the same data."""
    for path in sorted((study.folder / "article/figures").glob("*.csv")):
        text = path.read_text(encoding="utf-8")
        where = f"{study.shown}/article/figures/{path.name}"
        if base64.b64encode(text.encode()).decode() not in page:
            raise BrokenLink(f"{where}: article.html offers other data under this name")
        for row in csv.DictReader(text.splitlines()):
            number = numbers[row["number"]]
            shown = {end: float(row[end]) if row[end] else None for end in ("value", "low", "high")}
            shown |= {name: row[name] for name in ("scenario", "arm", "metric", "unit")}
            must_equal(f"{where}, {row['number']}", shown, number)
            across = {
                other["value"]
                for other in study.numbers
                if (other["arm"], other["scenario"]) == (row["arm"], row["scenario"])
            }
            across |= {s["streams"] for s in study.plan["scenarios"] if s["id"] == row["scenario"]}
            if row["x"] and float(row["x"]) not in across:
                raise BrokenLink(f"{where}, {row['number']}: x is {row['x']}, which is no number")


def check_audit(study: Study) -> int:
    """Every row of the audit page follows from the ledger, the claims, the gates or the cells."""
    # A page from before the scoreboard had a table of it shows none.
    shown = {"scoreboard": []} | data_block(study.text("article/audit.html"), "audit")
    wanted = {
        "numbers": [audit_number(number) for number in study.numbers],
        "claims": [audit_claim(row) for row in study.comparisons.values()],
        "gates": [audit_gate(row) for row in study.gates.values()],
        "scoreboard": [audit_figure(r) for r in study.table("claims/scoreboard.parquet")],
    }
    where = f"{study.shown}/article/audit.html"
    for table, rows in wanted.items():
        for own, other in zip(shown[table], rows, strict=False):
            if own != other:
                raise BrokenLink(f"{where}, {table}: shows {own}, from its source follows {other}")
        if len(shown[table]) != len(rows):
            raise BrokenLink(f"{where}, {table}: {len(shown[table])} rows, not {len(rows)}")
    unusable = [
        [c["arm"], c["scenario"], c["seed"], ", ".join(c["reasons"]), c["cell"], c["raw_file"]]
        for c in study.cells.values()
        if not c["usable"]
    ]
    if [[row[i] for i in (0, 1, 2, 4, 5, 6)] for row in shown["unusable"]] != unusable:
        raise BrokenLink(f"{where}: its unusable cells are not those of the tables")
    peers = study.table("claims/peers.parquet") if study.plan.get("peers") else []
    if shown.get("peers", []) != [audit_peer(row) for row in peers]:
        raise BrokenLink(f"{where}: its comparison of clients is not that of claims/peers.parquet")
    return sum(map(len, shown.values()))


def audit_peer(row: Row) -> list:
    labels = {"output_rate": "output rate", "ttft_median": "TTFT", "tpot_median": "TPOT"}
    return [
        *(row[name] for name in ("client", "arm", "scenario")),
        f"{labels[row['metric']]}, {row['unit']}",
        *(row[name] for name in ("ours", "theirs", "ratio", "low", "high", "rounds", "band")),
        "within the noise" if row["within_noise"] else "beyond the noise",
        row["verdict"],
        row["their_definition"],
    ]


def audit_number(number: Row) -> list:
    rule = number["rules"][0] if number["rules"] else None
    source, (place, *more) = number["source"], number["places"]
    address = f"article.html#n-{quote(number['id'], safe='/@:=+')}"
    line = f"{place['template'].removeprefix('article/')}:{place['line']}"
    return [
        number["note"],
        [number["printed"], address, number["value"]],
        *(number[name] for name in ("title", "value", "low", "high", "seeds")),
        number["kind"] + ", synthetic" * number["synthetic"],
        f"{source['file'].rsplit('/')[-1]}, {source['rows'][0]}",
        source["sha256"],
        *((rule["rule"], f"{rule['file']}:{rule['line']}") if rule else (None, None)),
        line + (f" (+{len(more)})" if more else ""),
    ]


def audit_claim(row: Row) -> list:
    return [
        row["metric"].replace("_", " "),
        *(row[name] for name in ("arm", "against", "scenario")),
        verdict_word(row["metric"], row["verdict"]),
        *(row[name] for name in ("value", "low", "high", "seeds", "band")),
        f"{row['form']}; {row['method'] or row['reason']}",
    ]


def audit_gate(row: Row) -> list:
    figures = (row[name] for name in ("threshold", "value", "low", "high"))
    kind = row["kind"].replace("_", " ")
    return [row["gate"], row["text"], kind, *figures, row["verdict"], row["decided_by"]]


def audit_figure(row: Row) -> list:
    address = f"article.html#n-published/{quote(row['figure'], safe='/@:=+')}"
    ends = [row[f"{name}{end}"] for name in ("ours", "ratio") for end in ("", "_low", "_high")]
    about = [[row["figure"], address, row["figure"]], row["arm"], row["scenario"]]
    return [
        *(*about, row["metric"].replace("_", " "), row["published"], *ends),
        *(row["noise"], row["verdict"], row["reason"]),
    ]
