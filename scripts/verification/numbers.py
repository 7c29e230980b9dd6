"""Numbers: each one of the ledger is found again where it comes from, and printed again."""

import json
import re
from collections.abc import Iterator
from statistics import mean

from verification.study import BrokenLink, Row, Study, compare, must_equal, sha256

NOT_RUN, NOT_APPLICABLE, UNUSABLE, NOT_COMPARABLE = "not run", "n/a", "unusable", "not comparable"
SUFFIX = r"|×| %| points| [A-Za-z][A-Za-z/ ]*"

# How `better` and `worse` are said of a metric.
COMPARATIVES = {
    "output_rate": ("faster", "slower"),
    "ttft_median": ("quicker to the first token", "slower to the first token"),
    "tpot_median": ("faster per token", "slower per token"),
    "latency_median": ("quicker", "slower"),
    "prefill_rate": ("faster in prefill", "slower in prefill"),
    "step_time": ("quicker per step", "slower per step"),
    "accuracy": ("more often correct", "less often correct"),
    "correct": ("more often correct", "less often correct"),
    "power": ("lower in power", "higher in power"),
    "tokens_per_joule": ("more efficient", "less efficient"),
    "joules_per_request": ("more frugal", "less frugal"),
    "peak_memory": ("smaller in memory", "larger in memory"),
}
THAN = {
    "equivalent": "inside the noise of",
    "undecided": "not told apart from",
    "incomparable": "not comparable with",
}


def check_numbers(study: Study) -> Iterator[str]:
    """The ledger's two forms agree, its links have their hash, its values follow and print."""
    where = f"{study.shown}/article/numbers"
    table = study.table("article/numbers.parquet")
    for own, other in zip(table, study.numbers, strict=False):
        must_equal(f"{where}.parquet, {other['id']}", own, other)
    if len(table) != len(study.numbers):
        raise BrokenLink(f"{where}.parquet: {len(table)} rows, numbers.json has more or fewer")
    hashes: dict[str, str] = {}
    quoted = 0
    for place, number in enumerate(study.numbers, 1):
        here = f"{where}.json, {number['id']}"
        compare(here, number, {"note": place}, whole=False)
        for link in (number["source"], *number["tables"], *number["raw"]):
            file = link["file"]
            if file not in hashes:
                hashes[file] = sha256(study.root / file)
            if hashes[file] != link["sha256"]:
                stated = link["sha256"]
                raise BrokenLink(f"{here}: {file} has sha256 {hashes[file]}, not {stated}")
        if number["kind"] in ("fact", "published"):
            quoted += 1
        else:
            found = expected(study, number)
            cells, words = found.pop("cells", None), found.pop("words", None)
            compare(here, number, {"value": None, "low": None, "high": None} | found, whole=False)
            check_chain(study, here, number, cells)
            check_words(here, number, words)
        check_print(here, number)
    yield f"{len(study.numbers)} printed numbers follow from their sources and print as they do"
    if quoted:
        yield f"{quoted} of them are facts or published figures, which rest on their file's hash"


def expected(study: Study, number: Row) -> Row:
    """Value, low, high, words (one or several that may stand there), cells, of a number's source;
    what its kind fixes beside them."""
    kinds = {
        "estimate": of_estimate,
        "spread": of_spread,
        "ratio": of_comparison,
        "difference": of_comparison,
        "verdict": of_verdict,
        "gate": of_gate,
        "claim": of_claim,
        "count": of_count,
        "setting": of_setting,
        "session": of_session,
        "evidence": of_evidence,
    }
    if number["kind"] not in kinds:
        raise BrokenLink(f"{number['id']}: its kind {number['kind']} is nothing known here")
    return kinds[number["kind"]](study, number)


def of_estimate(study: Study, number: Row) -> Row:
    row = study.estimates.get((number["metric"], number["arm"], number["scenario"]))
    if row is None:
        cells = study.cells_of(number["arm"], number["scenario"])
        usable = any(cell["usable"] for cell in cells)
        words = NOT_RUN if not cells else NOT_APPLICABLE if usable else UNUSABLE
        return {"words": words, "seeds": None, "cells": [cell["cell"] for cell in cells]}
    same = ("value", "low", "high", "level", "unit", "definition", "seeds", "requests", "synthetic")
    texts = {name: row[name] or "" for name in ("method", "reason")}
    return {name: row[name] for name in (*same, "cells")} | texts


def of_spread(study: Study, number: Row) -> Row:
    cells = study.cells_of(number["arm"], number["scenario"])
    usable = [cell for cell in cells if cell["usable"] and cell[number["metric"]] is not None]
    if not usable:
        return of_estimate(study, number)
    values = [cell[number["metric"]] for cell in usable]
    behind = study.estimates[number["metric"], number["arm"], number["scenario"]]["cells"]
    return {"low": min(values), "high": max(values), "cells": behind}


def of_comparison(study: Study, number: Row) -> Row:
    key = ("metric", "arm", "against", "scenario")
    row = study.comparisons.get(tuple(number[name] for name in key))
    if row is None:
        arms = (number["arm"], number["against"])
        ran = all(study.cells_of(arm, number["scenario"]) for arm in arms)
        return {"words": NOT_COMPARABLE if ran else NOT_RUN, "seeds": None, "cells": []}
    band = f"; band {row['band']:.3g}" if row["band"] else ""
    return {name: row[name] for name in ("value", "low", "high", "definition", "seeds")} | {
        "method": f"{row['method'] or ''}{band}",
        "reason": row["reason"] or "",
        "synthetic": row["synthetic"],
        "cells": row["cells"] + row["against_cells"],
    }


def of_verdict(study: Study, number: Row) -> Row:
    found = of_comparison(study, number)
    key = ("metric", "arm", "against", "scenario")
    row = study.comparisons.get(tuple(number[name] for name in key))
    ends = dict.fromkeys(("value", "low", "high"))
    if number["form"] == "seeds_to_decide":
        more = row["seeds_to_decide"] if row else 0
        return found | ends | ({"value": more} if more else {"words": "an unknown number of"})
    verdict = row["verdict"] if row else "incomparable"
    word = verdict_word(number["metric"], verdict)
    if number["form"] == "than":
        word = THAN.get(verdict, f"{word} than")
    return found | ends | {"words": word}


def verdict_word(metric: str, verdict: str) -> str:
    """How a verdict is said of a metric."""
    if verdict in ("better", "worse"):
        return COMPARATIVES.get(metric, ("better", "worse"))[verdict == "worse"]
    return {"equivalent": "inside the noise", "incomparable": NOT_COMPARABLE}.get(verdict, verdict)


def of_gate(study: Study, number: Row) -> Row:
    _, gate, part = number["id"].split("/")
    row = study.gates[gate]
    found = {"cells": row["cells"], "synthetic": row["synthetic"]}
    if part == "verdict":
        return found | {"words": row["verdict"]}
    column = "margin_over_noise" if part == "margin" else part
    ends = {end: row[end] for end in ("low", "high")} if part == "value" else {}
    absent = {"words": NOT_APPLICABLE} if row[column] is None else {}
    return found | ends | absent | {"value": row[column]}


def of_claim(study: Study, number: Row) -> Row:
    """A column of a row of the argument's tables; the ledger names the row's keys."""
    named = re.split(r" (?=\w+=)", number["source"]["rows"][0])
    keys = dict(item.split("=", 1) for item in named)
    rows = study.table(number["source"]["file"].removeprefix(f"{study.shown}/"))
    found = [row for row in rows if all(str(row[key]) == keys[key] for key in keys)]
    table = number["source"]["file"].rsplit("/", 1)[1].removesuffix(".parquet")
    rest = number["id"].removeprefix("/".join([table, *keys.values(), ""]))
    column = rest.removesuffix(f"/{number['form']}")
    if len(found) != 1 or column not in found[0]:
        raise BrokenLink(f"{number['id']}: its row or its column is not in {table}")
    row = found[0]
    about = {
        "seeds": row.get("seeds"),
        "reason": row.get("reason") or "",
        "synthetic": bool(row.get("synthetic")),
        "cells": row.get("cells") or [],
    }
    value = row[column]
    if value is None and not (number["shape"] == "interval" and row.get(f"{column}_high")):
        return about | {"words": NOT_APPLICABLE}
    if isinstance(value, str):
        said = {verdict_word(metric, value) for metric in (*COMPARATIVES, "")}
        return about | {"words": {value, *said} if column == "verdict" else value}
    ends = {end: row.get(f"{column}_{end}") for end in ("low", "high")}
    return about | ends | {"value": value}


def of_count(study: Study, number: Row) -> Row:
    _, what, *rest = number["id"].split("/")
    plan, cells = study.plan, list(study.cells.values())
    if what == "scenarios" and rest:
        verdicts, metric, pair = rest
        rows = [
            study.comparisons.get((metric, *pair.split(":"), s["id"])) for s in plan["scenarios"]
        ]
        known = [row["verdict"] for row in rows if row]
        every = verdicts == "comparable"
        return {"value": sum(every or verdict in verdicts.split("+") for verdict in known)}
    planned = {
        "arms": len(plan["arms"]),
        "scenarios": len(plan["scenarios"]),
        "seeds": len(plan["seeds"]),
        "workloads": len({scenario["workload"] for scenario in plan["scenarios"]}),
        "planned_cells": len(plan["arms"]) * len(plan["scenarios"]) * len(plan["seeds"]),
        "gates": len(study.gates),
    }
    if what in planned:
        return {"value": planned[what]}
    chosen = dict(item.split("=", 1) for item in rest)
    if what == "sessions":
        own = [
            row for row in study.sessions.values() if row["arm"] == chosen.get("arm", row["arm"])
        ]
        return {"value": len(own), "sessions": [row["session"] for row in own]}
    if code := chosen.pop("code", None):
        cells = [cell for cell in cells if code in (*cell["reasons"], *cell["remarks"])]
    cells = [cell for cell in cells if all(cell[key] == chosen[key] for key in chosen)]
    if what in ("usable", "unusable"):
        cells = [cell for cell in cells if cell["usable"] == (what == "usable")]
    total = sum(cell["requests"] for cell in cells) if what == "requests" else len(cells)
    return {"value": total, "cells": [cell["cell"] for cell in cells]}


def of_setting(study: Study, number: Row) -> Row:
    """A value of plan.json by its dotted path; names of arms may have dots, too."""
    path, value = number["source"]["rows"][0], study.plan
    named = {"arms": value["arms"], "scenarios": {s["id"]: s for s in value["scenarios"]}}
    group, _, after = path.partition(".")
    if group in named and after:
        known = [name for name in named[group] if after.startswith(f"{name}.")]
        if not known:
            return {"words": NOT_RUN}
        name = max(known, key=len)
        value, path = named[group][name], after.removeprefix(f"{name}.")
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is None or isinstance(value, bool):
        return {"words": "not set" if value is None else "yes" if value else "no"}
    if isinstance(value, (int, float)):
        return {"value": value}
    if isinstance(value, list):
        return {"words": ", ".join(map(str, value))}
    return {"words": json.dumps(value) if isinstance(value, dict) else str(value)}


def of_session(study: Study, number: Row) -> Row:
    _, served, column, *_ = number["id"].split("/")
    name, _, key = column.partition(".")
    starts = [s for s in study.sessions.values() if served in ("every-arm", s["arm"])]
    values = [json.loads(start[name]).get(key) if key else start[name] for start in starts]
    known = [value for value in values if value is not None]
    found = {"sessions": [start["session"] for start in starts], "seeds": len(known)}
    if not known:
        return found | {"words": {NOT_APPLICABLE if starts else NOT_RUN, "not stated"}}
    if not isinstance(known[0], (int, float)):
        return found | {"words": ", ".join(dict.fromkeys(map(str, known)))}
    if number["form"] == "spread":
        return found | {"low": min(known), "high": max(known)}
    return found | {"value": mean(known)}


def of_evidence(study: Study, number: Row) -> Row:
    _, arm, fact = number["id"].split("/")
    starts = [start for start in study.sessions.values() if start["arm"] == arm]
    found = [(s, item) for s in starts for item in s["evidence"] if item["fact"] == fact]
    words = ", ".join(dict.fromkeys(item["value"] for _, item in found)) or "not in the log"
    return {"words": words, "sessions": list(dict.fromkeys(s["session"] for s, _ in found))}


def check_chain(study: Study, where: str, number: Row, behind: list[str] | None) -> None:
    """Table rows, raw rows, sessions and what the sessions say are those of a number's cells."""
    cells = [study.cells[cell] for cell in behind or []]
    sessions = list(dict.fromkeys(cell["session"] for cell in cells)) or number["sessions"]
    raw: dict[str, list[str]] = {}
    for cell in cells:
        raw.setdefault(cell["raw_file"], []).append(ranges(cell["raw_rows"]))
    for link in number["raw"] if cells else []:
        compare(
            f"{where}, {link['file']}",
            link,
            {"rows": [", ".join(raw.get(link["file"], []))]},
            whole=False,
        )
    starts = [study.sessions[name] for name in sessions]

    def distinct(column: str) -> list[str]:
        return list(dict.fromkeys(start[column] for start in starts if start[column]))

    about = {
        "sessions": sessions,
        "dirty": bool(distinct("dirty")),
        "measured_at": distinct("commit"),
        "engines": distinct("engine_version"),
        "locks": distinct("lock_sha256"),
        "targets": distinct("target"),
        "drafters": distinct("drafter"),
        "gpus": distinct("gpu"),
    }
    compare(where, number, about, whole=False)
    if cells and {link["file"] for link in number["raw"]} != raw.keys():
        raise BrokenLink(f"{where}: its raw files are not those of its cells")


def ranges(rows: list[int]) -> str:
    """Row numbers as inclusive ranges: `0-31, 40`."""
    starts = [row for row in rows if row - 1 not in rows]
    ends = [row for row in rows if row + 1 not in rows]
    pairs = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in pairs)


def check_words(where: str, number: Row, words: str | set[str] | None) -> None:
    """A number that is said in words says the words of its source."""
    allowed = {words} if isinstance(words, str) else words
    if (number["shape"] == "words") != (allowed is not None):
        raise BrokenLink(f"{where}: prints {number['printed']!r}, its source says {words!r}")
    if allowed is not None and number["printed"] not in allowed:
        raise BrokenLink(f"{where}: prints {number['printed']!r}, its source says {words!r}")


def check_print(where: str, number: Row) -> None:
    """The printed text is the exact value at the stated digits, with a unit and a plus at most."""
    if number["shape"] == "words":
        return
    value, low, high = (
        None if number[end] is None else decimal(number, number[end])
        for end in ("value", "low", "high")
    )
    interval = "no interval" if low is None else f"{low} to {high}"
    first, then = (interval, "") if number["shape"] == "interval" else (str(value), "")
    if number["shape"] == "both" and low is not None:
        then = f" ({interval})"
    wanted = re.escape(first) + f"(?:{SUFFIX})" + re.escape(then)
    if not re.fullmatch(wanted, number["printed"].replace("+", "")):
        body = f"{first}{then}"
        raise BrokenLink(f"{where}: prints {number['printed']!r}, from its value follows {body!r}")


def decimal(number: Row, value: float) -> str:
    """Thousands by commas, a true minus sign, no sign on a rounded zero."""
    scaled = (value - number["offset"]) * number["scale"]
    text = f"{abs(scaled):,.{number['digits']}f}"
    return f"−{text}" if scaled < 0 and text.strip("0.,") else text
