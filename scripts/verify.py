"""Proves a study from its raw rows with code of its own, and names the first link that breaks.

    python scripts/verify.py results/demo

Needs Python and pyarrow, nothing else of this repository. It re-hashes every file, recomputes the
tables and claims from raw rows, re-prints every number and compares page, ledger and tables.
"""

import argparse
import hashlib
import html
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median

import pyarrow.parquet as pq

TOLERANCE = 1e-9
LINEAR = {"accuracy", "correct", "acceptance_rate"}


class BrokenLink(Exception):
    """A link of the chain that does not hold; the text names it."""


def main() -> None:
    """Verifies the study folders named on the command line; exits with 1 at the first break."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", type=Path, nargs="+", help="folders such as results/demo")
    arguments = parser.parse_args()
    for folder in arguments.studies:
        try:
            report = verify(folder)
        except BrokenLink as broken:
            print(f"{folder}: BROKEN\n  {broken}", file=sys.stderr)
            sys.exit(1)
        print(f"{folder}: whole")
        for line in report:
            print(f"  {line}")


def verify(folder: Path, root: Path | None = None) -> list[str]:
    """Checks every link of one study; returns what was checked, raises `BrokenLink`."""
    root = root or folder.resolve().parents[1]
    return [
        f"{check_seal(folder)} files have the hash that the seal states",
        f"{check_packs(folder)} sessions have the files that their manifests state",
        f"{check_tables(folder, root)} cells follow from their raw rows",
        f"{check_claims(folder)} estimates and comparisons follow from the cells",
        f"{check_numbers(folder, root)} printed numbers follow from their sources",
        f"{check_page(folder)} numbers stand on the page as the ledger says",
    ]


# Hashes


def sha256(path: Path) -> str:
    """sha256 of a file in hex; raises `BrokenLink` if it is not there."""
    if not path.is_file():
        raise BrokenLink(f"{path}: no such file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_seal(folder: Path) -> int:
    """The seal lists every file of the study but the ledger of cells and itself."""
    seal = read_json(folder / "seal.json")
    there = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in ("ledger", "seal.json")
    }
    for name in sorted(there ^ seal["files"].keys()):
        state = "is not in the seal" if name in there else "is missing"
        raise BrokenLink(f"{folder / name}: {state}")
    for name, stated in seal["files"].items():
        found = sha256(folder / name)
        if found != stated:
            raise BrokenLink(f"{folder / name}: sha256 is {found}, the seal states {stated}")
    whole = hashlib.sha256(json.dumps(seal["files"], sort_keys=True).encode()).hexdigest()
    if whole != seal["sha256"]:
        raise BrokenLink(f"{folder / 'seal.json'}: its own sha256 is {whole}")
    return len(there)


def check_packs(folder: Path) -> int:
    """Every manifest states the hashes of the files beside it."""
    manifests = sorted(folder.glob("raw/*/*/*/manifest.json"))
    for manifest in manifests:
        for name, stated in read_json(manifest)["files"].items():
            if sha256(manifest.parent / name) != stated:
                raise BrokenLink(f"{manifest.parent / name}: is not the file of its manifest")
    return len(manifests)


def read_json(path: Path) -> dict:
    """A JSON file; raises `BrokenLink` where it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BrokenLink(f"{path}: {error}") from None


def rows_of(path: Path, columns: list[str] | None = None) -> list[dict]:
    """A Parquet file as rows; raises `BrokenLink` where it is missing or broken."""
    try:
        return pq.read_table(path, columns=columns).to_pylist()
    except (OSError, ValueError) as error:
        raise BrokenLink(f"{path}: {error}") from None


# Tables


def check_tables(folder: Path, root: Path) -> int:
    """Recomputes what every cell states, from the raw rows of its session."""
    cells = rows_of(folder / "tables/cells.parquet")
    requests = defaultdict(list)
    for row in rows_of(folder / "tables/requests.parquet"):
        requests[row["cell"], row["raw_file"]].append(row)
    by_file = defaultdict(list)
    for cell in cells:
        by_file[cell["raw_file"]].append(cell)
    for file, of_file in by_file.items():
        pack = root / Path(file).parent
        manifest = read_json(pack / "manifest.json")
        raw = rows_of(pack / "requests.parquet", RAW_COLUMNS)
        texts = {(m["cell"], m["moment"]): m["text"] for m in rows_of(pack / "metrics.parquet")}
        name = pack.parent
        graded = only(folder / "grades" / name.parent.name / name.name, f"{pack.name}.*.parquet")
        grades = {(g["cell"], g["request"]): g for g in rows_of(graded)}
        facts = {entry["cell"]: entry for entry in manifest["cells"]}
        counters = manifest["spec"]["arm"]["engine"].get("counters", {})
        for cell in of_file:
            where = f"{folder}/tables/cells.parquet, {cell['arm']}/{cell['scenario']}"
            rows = [raw[index] for index in cell["raw_rows"]]
            wanted = [r for r in raw if r["cell"] == cell["cell"] and r["phase"] == "measured"]
            if rows != wanted:
                raise BrokenLink(f"{where}: raw_rows are not the measured rows of the cell")
            compare(where, cell, cell_from_raw(cell, rows, facts, texts, grades, counters))
            for row, source in zip(requests[cell["cell"], file], rows, strict=True):
                place = f"{folder}/tables/requests.parquet, {source['prompt_id']}"
                compare(place, row, request_from_raw(source))
    return len(cells)


RAW_COLUMNS = [
    "cell", "phase", "request", "prompt_id", "t_send", "t_first", "t_last", "t_end",
    "chunk_tokens", "finish_reason", "prompt_tokens", "completion_tokens", "step_accepted",
    "step_drafted", "engine_metrics", "error",
]  # fmt: skip


def request_from_raw(row: dict) -> dict:
    """What a request's row of the tables must say."""
    tokens = row["completion_tokens"]
    timed = row["t_first"] is not None and tokens is not None and tokens > 1
    return {
        "request": row["request"],
        "ttft": None if row["t_first"] is None else 1000 * (row["t_first"] - row["t_send"]),
        "tpot": 1000 * (row["t_last"] - row["t_first"]) / (tokens - 1) if timed else None,
        "latency": 1000 * (row["t_end"] - row["t_send"]),
        "completion_tokens": tokens,
        "prompt_tokens": row["prompt_tokens"],
        "steps": decode_steps(row),
    }


def decode_steps(row: dict) -> int | None:
    """Engine steps after prefill: by the engine's own list, else by the chunks with token ids."""
    accepted, drafted = row["step_accepted"] or [], row["step_drafted"] or []
    if accepted:
        verified = sum(d > 0 for d in drafted)
        listed = len(drafted) - verified
        left = row["completion_tokens"] - 1 - verified - sum(accepted) - listed
        return verified + listed + max(left, 0)
    if (told := own_account(row)) is not None:
        verified, _, taken = told
        return max(row["completion_tokens"] - 1 - taken, verified or 0)
    chunks = [tokens for tokens in row["chunk_tokens"] or [] if tokens > 0]
    return len(chunks) - 1 if chunks else None


def own_account(row: dict) -> tuple[int | None, int, int] | None:
    """Verified steps (llama.cpp counts none), drafted and accepted tokens, as an engine that lists
    no steps accounts for a request."""
    told = json.loads(row["engine_metrics"] or "{}")
    if details := told.get("sglext", {}).get("spec_tokens_details"):
        names = ("spec_verify_ct", "spec_num_proposed_drafts", "spec_num_correct_drafts")
        return tuple(details[name] for name in names)
    if timings := told.get("timings"):
        return None, timings.get("draft_n", 0), timings.get("draft_n_accepted", 0)
    return None


def cell_from_raw(
    cell: dict, rows: list[dict], facts: dict, texts: dict, grades: dict, names: dict
) -> dict:
    """What a cell's row of the tables must say."""
    complete = [row for row in rows if row["error"] is None]
    timed = [request_from_raw(row) for row in complete]
    tokens = sum(row["completion_tokens"] for row in complete)
    wall = facts[cell["cell"]]["wall"]
    ttft = [row["ttft"] for row in timed if row["ttft"] is not None]
    tpot = [row["tpot"] for row in timed if row["tpot"] is not None]
    steps = [row["steps"] for row in timed]
    known = bool(steps) and None not in steps and sum(steps) > 0
    decode = 1000 * sum(
        r["t_last"] - r["t_first"] for r in complete if (r["completion_tokens"] or 0) > 1
    )
    own = [grades.get((cell["cell"], row["request"]), {}) for row in complete]
    correct = [g["correct"] for g in own if g.get("correct") is not None]
    counted = {
        ours: counter(texts[cell["cell"], "after"], theirs)
        - counter(texts[cell["cell"], "before"], theirs)
        for ours, theirs in names.items()
    }
    drafts, drafted, taken = map(counted.get, ("drafts", "draft_tokens", "accepted_tokens"))
    if "draft_tokens" not in names:
        told = [account for row in complete if (account := own_account(row)) is not None]
        drafted, taken = sum(account[1] for account in told), sum(account[2] for account in told)
    wanted = {
        "requests": len(rows),
        "wall": wall,
        "completion_tokens": tokens,
        "prompt_tokens": sum(row["prompt_tokens"] for row in complete),
        "output_rate": tokens / wall,
        "ttft_median": median(ttft) if ttft else None,
        "ttft_mean": fmean(ttft) if ttft else None,
        "tpot_median": median(tpot) if tpot else None,
        "latency_median": median(row["latency"] for row in timed) if timed else None,
        "verification_steps": sum(steps) if known else None,
        "step_time": decode / sum(steps) if known else None,
        "graded": len(correct),
        "correct": sum(correct) if correct else None,
        "accuracy": sum(correct) / len(correct) if correct else None,
        "degenerate": sum(bool(g.get("degenerate")) for g in own),
    }
    if drafted:
        wanted |= {
            "drafts": drafts,
            "draft_tokens": drafted,
            "accepted_tokens": taken,
            "al_counter": 1 + taken / drafts if drafts else None,
            "acceptance_rate": taken / drafted,
        }
        if known:
            speculated = [row for row in complete if speculates(row)]
            of_these = sum(decode_steps(row) for row in speculated)
            spent = sum(row["completion_tokens"] - 1 for row in speculated)
            wanted["al_committed"] = spent / of_these if of_these else None
    return wanted


def speculates(row: dict) -> bool:
    """Whether a request had a verification step; every request counts where the engine tells of
    none."""
    if not row["step_accepted"] and (told := own_account(row)) is not None:
        return told[1] > 0
    drafted = row["step_drafted"] or []
    return any(drafted) if row["step_accepted"] or drafted else True


def counter(text: str, name: str) -> float:
    """A Prometheus counter in a /metrics text, summed over its labels; zero if it is absent."""
    found = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)", text, re.MULTILINE)
    return sum(float(value) for value in found)


def compare(where: str, stated: dict, computed: dict) -> None:
    """Raises `BrokenLink` at the first value that differs beyond rounding of the last bits."""
    for name, value in computed.items():
        if not same(stated[name], value):
            raise BrokenLink(f"{where}: {name} is {stated[name]}, from its source follows {value}")


def same(a: object, b: object) -> bool:
    """Equality of numbers up to the order of summation, of anything else exactly."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return a == b


# Claims


def check_claims(folder: Path) -> int:
    """Recomputes every estimate, and every comparison's value and interval, from the cells."""
    usable = [cell for cell in rows_of(folder / "tables/cells.parquet") if cell["usable"]]
    values = defaultdict(dict)
    for cell in usable:
        values[cell["arm"], cell["scenario"]][cell["seed"]] = cell
    estimates = rows_of(folder / "claims/estimates.parquet")
    comparisons = rows_of(folder / "claims/comparisons.parquet")
    for row in estimates:
        own = runs(values[row["arm"], row["scenario"]], row["metric"])
        where = f"{folder}/claims/estimates.parquet, {row['metric']}/{row['arm']}"
        compare(where, row, interval([*own.values()], row["metric"] not in LINEAR))
    for row in comparisons:
        own = runs(values[row["arm"], row["scenario"]], row["metric"])
        other = runs(values[row["against"], row["scenario"]], row["metric"])
        where = f"{folder}/claims/comparisons.parquet, {row['metric']}/{row['arm']}"
        compare(where, row, compared(own, other, row["form"] == "ratio"))
    return len(estimates) + len(comparisons)


def runs(cells: dict[int, dict], metric: str) -> dict[int, float]:
    """A metric's value per seed, cells without it left out."""
    return {seed: c[metric] for seed, c in sorted(cells.items()) if c[metric] is not None}


def interval(values: list[float], log: bool) -> dict:
    """Mean (geometric on the log scale) with Student's 95 % interval over runs."""
    worked = [math.log(value) if log else value for value in values]
    return spread_out(fmean(worked), variance(worked) / len(worked), len(worked) - 1, log)


def compared(own: dict[int, float], other: dict[int, float], log: bool) -> dict:
    """Ratio or difference: paired by seed where both arms ran the same seeds, else Welch's."""
    a = {seed: math.log(v) if log else v for seed, v in own.items()}
    b = {seed: math.log(v) if log else v for seed, v in other.items()}
    center = fmean(a.values()) - fmean(b.values())
    if a.keys() == b.keys():
        apart = [a[seed] - b[seed] for seed in a]
        return spread_out(center, variance(apart) / len(apart), len(apart) - 1, log)
    if min(len(a), len(b)) < 2:
        return spread_out(center, math.nan, 0, log)
    left, right = variance(list(a.values())) / len(a), variance(list(b.values())) / len(b)
    spent = left**2 / (len(a) - 1) + right**2 / (len(b) - 1)
    freedom = (left + right) ** 2 / spent if spent > 0 else len(a) + len(b) - 2
    return spread_out(center, left + right, freedom, log)


def variance(values: list[float]) -> float:
    """Unbiased variance; NaN for a single value."""
    if len(values) < 2:
        return math.nan
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def spread_out(center: float, squared_error: float, freedom: float, log: bool) -> dict:
    """Value, low and high; without a variance between runs there is no interval."""
    out = math.exp if log else float
    if math.isnan(squared_error):
        return {"value": out(center), "low": None, "high": None}
    half = student_975(freedom) * math.sqrt(squared_error)
    return {"value": out(center), "low": out(center - half), "high": out(center + half)}


def student_975(freedom: float) -> float:
    """The 97.5 % point of Student's t, by bisection on its distribution function."""
    low, high = 0.0, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        x = freedom / (freedom + middle * middle)
        if 1 - incomplete_beta(freedom / 2, 0.5, x) / 2 < 0.975:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    fraction = 1.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        fraction = 1 + odd / (1 + even / fraction)
    return front / (a * fraction)


# Numbers and page


def check_numbers(folder: Path, root: Path) -> int:
    """Every number's sources have the stated hash, hold its value, and print as it is printed."""
    numbers = read_json(folder / "article/numbers.json")["numbers"]
    if [n["id"] for n in rows_of(folder / "article/numbers.parquet")] != [n["id"] for n in numbers]:
        raise BrokenLink(f"{folder}/article: numbers.json and numbers.parquet differ")
    claims = {
        name: {tuple(row[key] for key in keys): row for row in rows_of(folder / name)}
        for name, keys in (
            ("claims/estimates.parquet", ("metric", "arm", "scenario")),
            ("claims/comparisons.parquet", ("metric", "arm", "against", "scenario")),
        )
    }
    hashes: dict[str, str] = {}
    for number in numbers:
        where = f"{folder}/article/numbers.json, {number['id']}"
        for link in [number["source"], *number["tables"], *number["raw"]]:
            file = link["file"]
            hashes.setdefault(file, sha256(root / file))
            if hashes[file] != link["sha256"]:
                raise BrokenLink(f"{where}: {file} has changed since the article was rendered")
        check_value(where, number, claims)
        check_print(where, number)
    return len(numbers)


def check_value(where: str, number: dict, claims: dict) -> None:
    """A number that was measured holds the value and interval of its claim."""
    if number["kind"] == "estimate":
        row = claims["claims/estimates.parquet"].get(
            (number["metric"], number["arm"], number["scenario"])
        )
    elif number["kind"] in ("ratio", "difference"):
        row = claims["claims/comparisons.parquet"].get(
            (number["metric"], number["arm"], number["against"], number["scenario"])
        )
    else:
        return
    if row is None:
        if number["value"] is not None:
            raise BrokenLink(f"{where}: no claim holds this number")
        return
    compare(where, number, {key: row[key] for key in ("value", "low", "high")})


def check_print(where: str, number: dict) -> None:
    """The printed text shows the exact value at the stated digits."""
    shape = number["shape"]
    if shape == "words" or number["value"] is None:
        return
    ends = [number["low"], number["high"]] if number["low"] is not None else []
    exact = {"value": [number["value"]], "interval": ends, "both": [number["value"], *ends]}[shape]
    shown = [(value - number["offset"]) * number["scale"] for value in exact]
    wanted = [f"{abs(value):,.{number['digits']}f}" for value in shown]
    printed = re.findall(r"\d[\d,]*(?:\.\d+)?", number["printed"])
    if printed[: len(wanted)] != wanted:
        raise BrokenLink(f"{where}: prints {number['printed']!r}, its value is {exact}")
    signs = [sign == "−" for sign in re.findall(r"([−+]?)\d[\d,]*(?:\.\d+)?", number["printed"])]
    for negative, value, text in zip(signs, shown, wanted, strict=False):
        if negative != (value < 0 and any(digit in text for digit in "123456789")):
            raise BrokenLink(f"{where}: prints {number['printed']!r}, its value is {exact}")


def check_page(folder: Path) -> int:
    """Every number on the page shows what the ledger prints for its id."""
    printed = {
        number["id"]: number["printed"]
        for number in read_json(folder / "article/numbers.json")["numbers"]
    }
    page = (folder / "article/article.html").read_text(encoding="utf-8")
    seen = set()
    for number, text in numbers_on(page):
        if number not in printed:
            raise BrokenLink(f"{folder}/article/article.html: {number} is not in the ledger")
        if text != printed[number]:
            raise BrokenLink(
                f"{folder}/article/article.html: {number} shows {text!r}, "
                f"the ledger prints {printed[number]!r}"
            )
        seen.add(number)
    for number in printed.keys() - seen:
        raise BrokenLink(f"{folder}/article/article.html: {number} is not on the page")
    return len(seen)


def numbers_on(page: str) -> Iterator[tuple[str, str]]:
    """(id, text) of every number button of a rendered page."""
    for found in re.finditer(
        r'<button[^>]*\bdata-n="([^"]+)"[^>]*>(.*?)</button>', page, re.DOTALL
    ):
        text = re.sub(r"<[^>]*>", "", found.group(2))
        yield html.unescape(found.group(1)), html.unescape(text).strip()


if __name__ == "__main__":
    main()
