"""Default deny: a digit, a number word or a word of comparison that a template or a figure types
itself fails, unless a waiver gives its reason.

A waiver is a comment, `{# waive: reason #}`. It holds for its own line, or for the next one if it
stands alone; a waiver that lets nothing through fails too.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from jinja2 import Environment, nodes

from specdock.article.printed import TemplateError

NUMBER_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred hundreds thousand thousands million millions billion billions dozen dozens couple
    once twice thrice single double doubles doubled triple triples tripled quadruple half halves
    halved thirds quarter quarters fifths tenth tenths percent
"""
COMPARISON_WORDS = """
    faster fastest slower slowest quicker quickest higher highest lower lowest larger largest
    bigger biggest smaller smallest greater greatest longer longest shorter shortest cheaper
    cheapest sooner heavier lighter better best worse worst more most less least fewer fewest
    superior inferior equal equals equally equivalent identical unchanged lossless
    outperforms outperform outperformed beats beat wins win won winner loses lose lost loser
    gain gains gained improve improves improved improvement improvements regression regressions
    speedup slowdown increase increases increased decrease decreases decreased reduce reduces
    reduced rises rise rose drops dropped falls fell grows grew exceeds exceeded surpasses ahead
    behind dominates dominant negligible significant significantly insignificant substantial
    substantially dramatic dramatically massive huge tiny majority minority undecided tied
    passes passed fails failed proves proven confirms confirmed always never nearly almost
    roughly approximately
"""
PHRASES = (
    r"no (?:measurable |visible |real )?(?:loss|gain|difference|cost|change|effect)",
    r"(?:a|one) (?:third|quarter|fifth|tenth) of",
    r"(?<!rather )(?<!other )than",
    r"(?:with)?in(?:side)? (?:the )?noise",
    r"on par",
    r"as (?:fast|slow|good|bad|high|low) as",
)
_WORDS = [*NUMBER_WORDS.split(), *COMPARISON_WORDS.split()]
_DENIED = re.compile(
    rf"\b(?:{'|'.join(PHRASES)}|{'|'.join(_WORDS)})\b|[^\W_]*\d[\w.,%×]*", re.IGNORECASE
)
_LIST_NUMBER = re.compile(r"^(\s*)\d+[.)](?=\s)", re.MULTILINE)
_WAIVER = re.compile(r"^\s*waive:\s*(.*?)\s*$", re.DOTALL)
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_TAG = re.compile(r"<[^>]*>", re.DOTALL)
_TICK = re.compile(r"[xy]tick_\d+")


class LintFailed(TemplateError):
    """Everything that the lint found, one line each."""


@dataclass(frozen=True, order=True)
class Finding:
    """Something wrong at one line of a template or a figure."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


@dataclass
class Report:
    """What fails, and what waivers let through, by waiver."""

    findings: list[Finding] = field(default_factory=list)
    waived: list[tuple[Finding, str]] = field(default_factory=list)

    def require_clean(self) -> None:
        """Raises `LintFailed` if anything was found."""
        if self.findings:
            count = len(self.findings)
            raise LintFailed(
                "\n".join(map(str, sorted(self.findings)))
                + f"\n{count} finding{'s' if count > 1 else ''}: print it with a binding, say it "
                "without a figure, or waive it with {# waive: reason #}"
            )


def denied(text: str) -> Iterator[tuple[int, str]]:
    """(offset, words) of what a text must not type."""
    text = _LIST_NUMBER.sub(lambda match: " " * len(match.group()), text)
    for match in _DENIED.finditer(text):
        yield match.start(), match.group()
    for offset, letter in enumerate(text):
        if letter.isnumeric() and not letter.isdecimal():
            yield offset, letter


def lint_templates(folder: Path, environment: Environment, bindings: set[str]) -> Report:
    """Lints every template under a folder; `bindings` are the names that it may call."""
    report = Report()
    trees: dict[str, nodes.Template] = {}
    for path in sorted(folder.rglob("*.j2")):
        name = path.relative_to(folder).as_posix()
        source = path.read_text(encoding="utf-8")
        trees[name] = environment.parse(source, name, str(path))
        found = [
            *_typed_text(name, source, environment),
            *_typed_constants(name, trees[name], bindings),
        ]
        _sort_by_waiver(f"article/{name}", found, _waivers(source, environment), report)
    report.findings += _unused(trees)
    return report


def lint_figure(file: str, svg: str, labels: Iterable[str]) -> list[Finding]:
    """Lints the words of a drawing; tick labels and names from the data are not typed."""
    lines = svg.splitlines()
    found = []
    for text in _drawn_text(ElementTree.fromstring(svg), in_tick=False):
        rest = text
        for label in sorted(labels, key=len, reverse=True):
            rest = rest.replace(label, " ")
        line = next((n for n, content in enumerate(lines, 1) if text in content), 1)
        found += [Finding(file, line, f"the drawing types “{word}”") for _, word in denied(rest)]
    return found


def _drawn_text(element: ElementTree.Element, in_tick: bool) -> Iterator[str]:
    in_tick = in_tick or bool(_TICK.fullmatch(element.get("id", "")))
    if element.tag.endswith("}text") and not in_tick:
        yield "".join(element.itertext())
    for child in element:
        yield from _drawn_text(child, in_tick)


# Text between the bindings


def _typed_text(name: str, source: str, environment: Environment) -> Iterator[Finding]:
    if name.endswith(".html.j2"):
        text = source
        for pattern in (_JINJA, _TAG):
            text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        pieces = [(1, text)]
    else:
        pieces = [(line, value) for line, kind, value in environment.lex(source) if kind == "data"]
    for first, text in pieces:
        for offset, word in denied(text):
            line = first + text.count("\n", 0, offset)
            yield Finding(f"article/{name}", line, f"the template types “{word}”")


# Constants inside expressions


def _typed_constants(name: str, tree: nodes.Template, bindings: set[str]) -> Iterator[Finding]:
    for constant in _printable(tree, bindings):
        if isinstance(constant.value, bool) or constant.value is None:
            continue
        for _, word in denied(str(constant.value)):
            yield Finding(f"article/{name}", constant.lineno, f"an expression types “{word}”")


def _printable(node: nodes.Node, bindings: set[str]) -> Iterator[nodes.Const]:
    """Constants that may reach the page: not conditions, file names, or arguments of bindings."""
    skipped: tuple[nodes.Node | None, ...] = ()
    match node:
        case nodes.Const():
            yield node
            return
        case nodes.Compare() | nodes.Test() | nodes.Include() | nodes.FromImport() | nodes.Import():
            return
        case nodes.Call(node=nodes.Name(name=called)) if called in bindings:
            return
        case nodes.Call(node=nodes.Getattr()) | nodes.Slice():
            return
        case nodes.If() | nodes.CondExpr():
            skipped = (node.test,)
        case nodes.Getitem():
            skipped = (node.arg,)
    for child in node.iter_child_nodes():
        if child not in skipped:
            yield from _printable(child, bindings)


# Waivers


def _waivers(source: str, environment: Environment) -> Iterator[tuple[int, str, int]]:
    """(line it stands on, reason, line it holds for)."""
    lines = source.splitlines()
    for line, kind, value in environment.lex(source):
        if kind == "comment" and (match := _WAIVER.match(value)):
            alone = not _JINJA.sub("", lines[line - 1]).strip() and "{{" not in lines[line - 1]
            yield line, match.group(1), line + 1 if alone else line


def _sort_by_waiver(
    file: str, found: list[Finding], waivers: Iterable[tuple[int, str, int]], report: Report
) -> None:
    for line, reason, holds_for in waivers:
        covered = [finding for finding in found if finding.line == holds_for]
        if not reason:
            report.findings.append(Finding(file, line, "a waiver gives no reason"))
        elif not covered:
            report.findings.append(Finding(file, line, f"a waiver lets nothing through: {reason}"))
        report.waived += [(finding, reason) for finding in covered]
        found = [finding for finding in found if finding not in covered]
    report.findings += found


# Declared, yet not used


def _unused(trees: dict[str, nodes.Template]) -> Iterator[Finding]:
    loaded, included = set(), {"article.md.j2"}
    for tree in trees.values():
        loaded |= {node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"}
        for node in tree.find_all((nodes.Include, nodes.FromImport, nodes.Import)):
            included |= {constant.value for constant in node.template.find_all(nodes.Const)}
            if isinstance(node.template, nodes.Const):
                included.add(node.template.value)
    for name, tree in trees.items():
        file = f"article/{name}"
        if name not in included and not name.startswith("theme/"):
            yield Finding(file, 1, "no template includes this file")
        for node in tree.find_all(nodes.Macro):
            if node.name not in loaded:
                yield Finding(file, node.lineno, f"the macro {node.name} is never called")
        for node in tree.find_all(nodes.Assign):
            for target in node.find_all(nodes.Name):
                if target.ctx == "store" and target.name not in loaded:
                    yield Finding(file, node.lineno, f"{target.name} is set and never used")
