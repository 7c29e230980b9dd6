"""Proves a study from its raw rows with code of its own, and names the first link that breaks.

    python scripts/verify.py results/demo

Needs Python and pyarrow, nothing else of this repository but scripts/verification. It re-hashes
every file, recomputes tables and claims from the raw rows, finds every printed number again, and
compares what the article, the ledger and the audit page say of it.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from verification.arguments import check_arguments
from verification.claims import check_claims
from verification.clients import check_generated, check_peers
from verification.files import check_packs, check_seal
from verification.grades import check_grades
from verification.numbers import check_numbers
from verification.pages import check_pages
from verification.study import BrokenLink, Study
from verification.tables import check_tables


def main() -> None:
    """Verifies the study folders named on the command line; exits with 1 at the first break."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", type=Path, nargs="+", help="folders such as results/demo")
    for folder in parser.parse_args().studies:
        try:
            report = list(verify(folder))
        except BrokenLink as broken:
            print(f"BROKEN  {broken}", file=sys.stderr)
            sys.exit(1)
        print(f"WHOLE   {folder}", *report, sep="\n  ")


CHECKS = (
    check_seal,
    check_packs,
    check_generated,
    check_grades,
    check_tables,
    check_claims,
    check_arguments,
    check_peers,
    check_numbers,
    check_pages,
)


def verify(folder: Path) -> Iterator[str]:
    """Checks every link of one study, and says what it checked; raises `BrokenLink`."""
    study = Study(folder.resolve())
    for check in CHECKS:
        try:
            yield from check(study)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            name = check.__name__.replace("_", " ")
            raise BrokenLink(f"{folder}: {name}: a file has lost its form: {error!r}") from error


if __name__ == "__main__":
    main()
