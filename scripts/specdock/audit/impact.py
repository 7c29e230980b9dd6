"""What depends on a file: the numbers that would have to be made again, and their sentences."""

import re
from collections.abc import Callable
from pathlib import Path

from specdock.audit.printed import PrintedNumbers, Row
from specdock.errors import SpecdockError
from specdock.plan.imports import modules_of

_RULE = re.compile(r"^rule (\w+):$(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_SCRIPT = re.compile(r"\bscripts/\w+\.py\b")


def impact(file: str, study: PrintedNumbers) -> list[Row]:
    """Numbers that depend on a file, named from the repository root; all of them in doubt's favour.

    A file is part of a number's chain, belongs to a session behind it, is a rule of the chain or a
    module of that rule's script (of the page's own only if no rule of a chain stands on it), or is
    config that the whole plan follows from. Raises `SpecdockError` for a file that is not there.
    """
    if not (study.root / file).exists():
        raise SpecdockError(f"{file}: no such file under {study.root.name}; give a path from there")
    depends = _test_for(file, study)
    return [number for number in study.numbers if depends(number)]


def sentences(numbers: list[Row], root: Path) -> list[tuple[str, str]]:
    """(template:line, text) of the lines that print some numbers, each once."""
    places = {
        (place["template"], place["line"]) for number in numbers for place in number["places"]
    }
    lines = {}
    for template, line in sorted(places):
        path = root / template
        text = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        lines[f"{template}:{line}"] = text[line - 1].strip() if line <= len(text) else ""
    return list(lines.items())


def _test_for(file: str, study: PrintedNumbers) -> Callable[[Row], bool]:
    shown = study.folder.relative_to(study.root).as_posix()
    if match := re.match(rf"{re.escape(shown)}/raw/.+/seed-\d+/\w{{16}}(?=/)", file):
        pack = match[0]
        return _of_sessions({n for n, s in study.sessions.items() if _pack(s) == pack})
    if match := re.match(
        rf"{re.escape(shown)}/(?:grades|specs)/(.+)/(seed-\d+)[/.](\w{{16}})", file
    ):
        pack = f"{shown}/raw/{match[1]}/{match[2]}/{match[3]}"
        return _of_sessions({n for n, s in study.sessions.items() if _pack(s) == pack})
    if file in (f"{shown}/tables/requests.parquet", f"{shown}/tables/power.parquet"):
        return lambda number: any("/raw/" in link["file"] for link in number["raw"])
    if file.startswith("envs/"):
        arms = [a for a, spec in study.plan["arms"].items() if file in _locks(spec)]
        return _of_sessions({n for n, s in study.sessions.items() if s["arm"] in arms})
    if file.startswith(("rules/", "scripts/")) or file == "Snakefile":
        rules = _rules_on(file, study.root)
        makers = rules & {rule["rule"] for number in study.numbers for rule in number["rules"]}
        return lambda number: (
            any(rule["rule"] in makers for rule in number["rules"]) if makers else "render" in rules
        )
    if file.startswith("article/"):
        everywhere = Path(file).name in ("macros.j2", "article.md.j2") or "/theme/" in file
        return lambda number: everywhere or any(p["template"] == file for p in number["places"])
    if file in (f"{shown}/plan.json", f"config/studies/{study.folder.name}.yaml"):
        return lambda number: number["kind"] not in ("fact", "published")
    catalogues = r"config/(engines|clients|models|datasets|config)\.yaml|config/workloads/"
    if re.match(catalogues, file):
        return lambda number: number["kind"] not in ("fact", "published")
    return lambda number: (
        file in {link["file"] for link in (number["source"], *number["tables"], *number["raw"])}
    )


def _of_sessions(sessions: set[str]) -> Callable[[Row], bool]:
    return lambda number: not sessions.isdisjoint(number["sessions"])


def _pack(session: Row) -> str:
    return session["manifest_file"].rsplit("/", 1)[0]


def _locks(arm: dict) -> list[str]:
    environment = arm["engine"]["environment"]
    return [environment[key] for key in ("lock", "fallback") if environment.get(key)]


def _rules_on(file: str, root: Path) -> set[str]:
    """Rules that a rule file defines, or whose script stands on a module."""
    found = set()
    for path in (root / "Snakefile", *sorted((root / "rules").glob("*.smk"))):
        for name, body in _RULE.findall(path.read_text(encoding="utf-8")):
            here = path.relative_to(root).as_posix() == file
            scripts = {root / script for script in _SCRIPT.findall(body)}
            modules = {m for s in scripts if s.is_file() for m in modules_of(s, root)}
            if here or file in modules:
                found.add(name)
    return found
