"""Asks where a printed number comes from, what a file decides, or what changed since a revision.

scripts/trace.py 303.3                 every number that prints this, with its chain
scripts/trace.py --impact FILE         every number and sentence that depends on a file
scripts/trace.py --diff REV            every number that changed since a git revision
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specdock.audit.chain import chain
from specdock.audit.changes import changes
from specdock.audit.impact import impact, sentences
from specdock.audit.printed import PrintedNumbers, rendered_study
from specdock.errors import SpecdockError
from specdock.plan.load import read_yaml

MOST_CHAINS = 5


def main() -> None:
    """Prints what was asked; plain lines where the output is no terminal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("number", nargs="?", help="printed text, or the id of a number")
    asked.add_argument("--impact", metavar="FILE", help="a path from the repository root")
    asked.add_argument("--diff", metavar="REV", help="a git revision")
    parser.add_argument("--study", help="default: that of config/config.yaml")
    arguments = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    root = Path.cwd()
    try:
        default = read_yaml(root / "config/config.yaml", "config/config.yaml")["study"]
        study = rendered_study(root, arguments.study, default)
        if arguments.impact:
            _print_impact(arguments.impact, study, console)
        elif arguments.diff:
            _print_changes(arguments.diff, study, console)
        else:
            _print_chains(arguments.number, study, console)
    except SpecdockError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


def _print_chains(query: str, study: PrintedNumbers, console: Console) -> None:
    found = study.find(query)
    for number in found[:MOST_CHAINS]:
        lines = list(chain(number, study))
        _print_rows(console, lines)
        console.print()
    if rest := found[MOST_CHAINS:]:
        console.print(f"{len(rest)} more print it; ask for one by its id:", style="bold")
        _print_rows(console, [(number["printed"], number["id"]) for number in rest])


def _print_impact(file: str, study: PrintedNumbers, console: Console) -> None:
    numbers = impact(file, study)
    console.print(f"{len(numbers)} of {len(study.numbers)} numbers depend on {file}", style="bold")
    _print_rows(console, [(number["printed"], number["id"]) for number in numbers])
    console.print("\nthey stand in", style="bold")
    _print_rows(console, sentences(numbers, study.root))


def _print_changes(revision: str, study: PrintedNumbers, console: Console) -> None:
    found = changes(revision, study)
    console.print(f"{len(found)} numbers changed since {revision}", style="bold")
    rows = [(f"{c.before or '–'} → {c.after or '–'}", f"{c.id}   {c.judged}") for c in found]
    _print_rows(console, rows)


def _print_rows(console: Console, rows: list[tuple[str, str]]) -> None:
    """Two columns on a terminal; in a pipe a line a row, whole."""
    if not console.is_terminal:
        for label, text in rows:
            print(f"{label:<14} {text}")
        return
    table = Table(box=None, show_header=False, padding=(0, 3, 0, 0))
    table.add_column(style="bold", max_width=32)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(Text(label), Text(text))
    console.print(table)


if __name__ == "__main__":
    main()
