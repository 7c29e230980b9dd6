"""Grades: answers with a number are graded again, and every answer is searched for loops."""

import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from verification.study import BrokenLink, Row, Study, compare, sha256

NUMBER = (
    r"(?P<top>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|(?<!\.)\.[0-9]+)"
    r"(?:/(?P<bottom>[1-9][0-9]*))?"
)
ANYWHERE = re.compile(rf"(?<!\w)(?<![0-9]\.){NUMBER}")
MARKED = re.compile(rf"####[ \t*]*[-$€£¥]*{NUMBER}[^\w\n]*$", re.MULTILINE)
NEGATIVE = re.compile(r"(?:(?:^|[^\w)])-[$€£¥]?|[$€£¥]-)$")


def check_grades(study: Study) -> Iterator[str]:
    """Grades answers with a number again, where the data set is here; looks for loops in all."""
    again, hashed, absent = 0, Counter(), set()
    for pack in study.packs:
        gold = {id: right_answers(study.root, spec) for id, spec in pack.scenarios.items()}
        wanted = [row for cell in pack.scenarios for _, row in pack.measured(cell)]
        where = f"grades of {pack.arm}, seed {pack.seed}"
        if [(row["cell"], row["request"]) for row in wanted] != list(pack.grades):
            raise BrokenLink(f"{where}: they are not those of the measured requests")
        for row, grade in zip(wanted, pack.grades.values(), strict=True):
            scenario = pack.scenarios[row["cell"]]
            place = f"{where}, {scenario['id']}, request {row['request']}"
            compare(place, grade, loop_in(row, grade["compression"], place), whole=False)
            about = {"prompt_id": row["prompt_id"], "grade": scenario["grade"] or None}
            if not scenario["grade"] or row["error"] is not None:
                about |= {"correct": None, "outcome": None, "extracted": None}
            elif scenario["grade"] != "exact-match":
                hashed[scenario["grade"]] += 1
            elif gold[row["cell"]] is None:
                absent.add(f"{scenario['workload']}.{scenario['data_set_pin']}")
            else:
                found, rule = final_number(row["text"])
                right, _ = final_number(gold[row["cell"]][row["prompt_id"]])
                about |= {"correct": found is not None and found == right, "outcome": rule}
                again += 1
            compare(place, grade, about, whole=False)
    yield f"{again} answers with a number were graded again"
    for name, count in hashed.items():
        yield f"{count} grades by {name} rest on their hash: programs are not run here"
    for pin in sorted(absent):
        yield f"{pin} is not in resources/, so its grades rest on their hash (scripts/fetch.py)"


def right_answers(root: Path, scenario: Row) -> dict[str, str] | None:
    """Answers by prompt id of a data set with a number for an answer; None where it is not here."""
    source, reader = scenario["data_set"]["source"], scenario["data_set"]["reader"]
    if scenario["grade"] != "exact-match" or reader["format"] not in ("json", "jsonl", "jsonl.gz"):
        return None
    # Whatever the pin is called, the bytes are those that it states.
    places = [root, *sorted(root.glob(f"resources/{scenario['workload']}.*"))]
    wanted = source["members"] or {source["path"]: None}
    rows: list[Row] = []
    for name, digest in wanted.items():
        there = (place / name for place in places if (place / name).is_file())
        path = next((path for path in there if digest in (None, sha256(path))), None)
        if path is None:
            return None
        packed = path.read_bytes()
        text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
        lines = text.splitlines() if reader["format"] != "json" else []
        rows += [json.loads(line) for line in lines if line] or json.loads(text)
    ids = (str(r[reader["id"]]) if reader["id"] else None for r in rows)
    return {
        id or f"{scenario['workload']}-{place}": str(row[reader["answer"]])
        for place, (id, row) in enumerate(zip(ids, rows, strict=True))
    }


def final_number(text: str) -> tuple[Decimal | None, str]:
    """The number that an answer ends in, after `####` if that is there, and which rule found it."""
    text = text.replace("\N{MINUS SIGN}", "-")
    text = re.sub(r"\\[dt]?frac\{([0-9]+)\}\{([0-9]+)\}", r"\1/\2", text)
    text = re.sub(r"\{,\}|,\\!|\\,", ",", text)
    for rule, pattern in (("marker", MARKED), ("last-number", ANYWHERE)):
        if matches := list(pattern.finditer(text)):
            found = matches[-1]
            value = Decimal(found["top"].replace(",", "")) / Decimal(found["bottom"] or 1)
            return -value if NEGATIVE.search(text[: found.start("top")]) else value, rule
    return None, "no-number"


def loop_in(row: Row, stated_ratio: float, where: str) -> Row:
    """Whether an answer is a repetition loop, by its repeated 8-grams and by how it compresses."""
    text = f"{row['reasoning']}\n{row['text']}".strip()
    words = re.findall(r"\w+|[^\w\s]", text)
    grams = [tuple(words[i : i + 8]) for i in range(len(words) - 7)]
    share = 1 - len(set(grams)) / len(grams) if grams else 0.0
    raw = text.encode()
    ratio = len(raw) / len(zlib.compress(raw, 9)) if raw else 1.0
    # Builds of zlib differ by a few bytes.
    if not math.isclose(ratio, stated_ratio, rel_tol=0.05):
        raise BrokenLink(f"{where}: compression is {stated_ratio}, here {ratio}")
    return {"repeated_share": share, "degenerate": share > 0.5 or stated_ratio > 10}
