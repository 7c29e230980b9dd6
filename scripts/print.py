"""Prints a rendered article as a PDF: the rule `print`."""

import argparse
import sys
from pathlib import Path

from specdock.article.pdf import print_page
from specdock.errors import SpecdockError


def main() -> None:
    """Reads the page, writes the PDF."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        print_page(arguments.page, arguments.out)
    except SpecdockError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
