"""One number's chain in words, from the value down to the log of the engine that gave it."""

import json
import shlex
from collections.abc import Iterator

from specdock.audit.printed import PrintedNumbers, Row
from specdock.plan.fingerprint import sha256_of

MOST_LINES = 6


def chain(number: Row, study: PrintedNumbers) -> Iterator[tuple[str, str]]:
    """(label, text) lines as a reader needs them; a file that changed since is said to have."""
    yield number["printed"], "   ".join([number["title"], *_interval(number)])
    yield "id", number["id"]
    yield from (("claim", text) for text in _claims(number, study))
    for label, links in (
        ("source", [number["source"]]),
        ("table", number["tables"]),
        ("raw", number["raw"]),
    ):
        yield from _shortened(label, [_link(link, study) for link in links])
    starts = [study.sessions[name] for name in number["sessions"]]
    yield from _shortened("session", [_session(start) for start in starts])
    yield from _shortened("evidence", [line for start in starts for line in _evidence(start)])
    yield from _rules(number, study)
    for place in number["places"]:
        yield "printed in", f"{place['template']}:{place['line']}"
    if number["quotation"]:
        yield "in their words", f"“{number['quotation']}”"
    if number["cited"]:
        yield "stated by", number["cited"]


def _interval(number: Row) -> Iterator[str]:
    if number["low"] is not None and number["level"]:
        yield f"{number['level']:.0%} interval {number['low']:.6g} to {number['high']:.6g}"
    elif number["low"] is not None:
        yield f"{number['low']:.6g} to {number['high']:.6g}"
    counts = (("start", number["seeds"]), ("request", number["requests"]))
    counted = [f"{n} {what}{'s' * (n != 1)}" for what, n in counts if n is not None]
    if counted:
        yield ", ".join(counted)
    if number["synthetic"]:
        yield "synthetic"
    if number["dirty"]:
        yield "measured with uncommitted changes"
    if number["reason"]:
        yield number["reason"]


def _claims(number: Row, study: PrintedNumbers) -> Iterator[str]:
    """The comparison that the number states, or those of its arm with what the study argues
    against."""
    roles = study.plan["roles"]
    rivals = [roles.get(role) for role in ("incumbent", "reference")]
    key = ("metric", "arm", "scenario")
    for row in study.comparisons:
        if all(row[name] == number[name] for name in key) and (
            row["against"] == number["against"] if number["against"] else row["against"] in rivals
        ):
            value = f"{row['value']:.4g}{'×' if row['form'] == 'ratio' else ''}"
            band = f", band {row['band']:.3g}" if row["band"] else ""
            yield f"{value} against {row['against']}: {row['verdict']}{band}"


def _link(link: Row, study: PrintedNumbers) -> str:
    path = study.root / link["file"]
    if not path.is_file():
        state = "  MISSING"
    else:
        state = "" if sha256_of(path) == link["sha256"] else "  CHANGED SINCE"
    rows = "; ".join(link["rows"][:MOST_LINES])
    more = len(link["rows"]) - MOST_LINES
    return f"{link['file']}  sha256 {link['sha256'][:12]}…  {rows}" + (
        f" and {more} more{state}" if more > 0 else state
    )


def _session(start: Row) -> str:
    gpu = json.loads(start["gpu"] or "{}") or {}
    card = gpu.get("name") or gpu.get("absent") or "no card is stated"
    parts = [
        start["session"],
        f"{start['engine']} ({start['engine_version']})",
        f"lock {start['lock_sha256'][:12]}…",
        f"target {start['target']}",
        *([f"drafter {start['drafter']}"] if start["drafter"] else []),
        card + (f", driver {gpu['driver']}" if gpu.get("driver") else ""),
        f"commit {start['commit'][:12]}" + (" with a patch" if start["dirty"] else ""),
    ]
    return ", ".join(parts)


def _evidence(start: Row) -> Iterator[str]:
    for item in start["evidence"] or []:
        yield f"{start['log_file']}:{item['line']}  “{item['text']}”"


def _rules(number: Row, study: PrintedNumbers) -> Iterator[tuple[str, str]]:
    """Every rule of the chain, the file that it makes, and how to make that file again."""
    for link in number["rules"]:
        at = f" at commit {number['commit'][:12]}" if number["commit"] else ""
        yield "rule", f"{link['rule']} ({link['file']}:{link['line']}){at} makes {link['makes']}"
    if number["rules"]:
        file = shlex.quote(number["rules"][0]["makes"])
        name = study.folder.name
        yield "rebuild", f"snakemake --cores 1 --config study={name} --forcerun {file} -- {file}"


def _shortened(label: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines[:MOST_LINES]:
        yield label, line
    if len(lines) > MOST_LINES:
        yield label, f"and {len(lines) - MOST_LINES} more"
