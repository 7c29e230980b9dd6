"""Which rule makes a file, and where that rule stands: read from the text of Snakefile and rules/.

A rule is found by the string literals of its `output:` block, so that the page can name rule, file
and line without running Snakemake.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from specdock.errors import SpecdockError

_RULE = re.compile(r"^(?:rule|checkpoint)\s+(\w+)\s*:")
_BLOCK = re.compile(r"^    (\w+)\s*:")
_LITERAL = re.compile(r"""["']([^"']+)["']""")
_WILDCARD = re.compile(r"\\\{[^}]*\\\}")


class RuleUnknown(SpecdockError):
    """No rule says that it makes a file."""


@dataclass(frozen=True)
class Rule:
    """A rule and the line that it starts on."""

    name: str
    file: str
    line: int


class Rulebook:
    """The rules of a repository."""

    def __init__(self, root: Path):
        self._outputs: list[tuple[re.Pattern[str], Rule]] = []
        files = [root / "Snakefile", *sorted((root / "rules").glob("*.smk"))]
        for path in files:
            if path.is_file():
                self._read(path, path.relative_to(root).as_posix())
        self._known: dict[str, Rule] = {}

    def maker(self, file: str) -> Rule:
        """The rule whose output matches a path from the repository root; raises `RuleUnknown`."""
        if file not in self._known:
            found = [rule for pattern, rule in self._outputs if pattern.fullmatch(file)]
            if not found:
                raise RuleUnknown(
                    f"{file}: no rule makes it\n"
                    "  found    no `output:` literal in Snakefile or rules/*.smk that matches\n"
                    "  allowed  a path from the repository root with wildcards in braces"
                )
            self._known[file] = found[0]
        return self._known[file]

    def _read(self, path: Path, shown: str) -> None:
        rule, block = None, ""
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := _RULE.match(text):
                rule, block = Rule(match.group(1), shown, line), ""
            elif text and not text[0].isspace():
                rule = None
            elif match := _BLOCK.match(text):
                block = match.group(1)
            if rule and block == "output":
                for literal in _LITERAL.findall(text):
                    pattern = _WILDCARD.sub("[^/]+", re.escape(literal))
                    self._outputs.append((re.compile(pattern), rule))
