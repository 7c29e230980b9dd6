"""Lints the article's templates: no figure, number word or word of comparison is typed."""

import argparse
import sys
from pathlib import Path

from specdock.article.templates import lint_article
from specdock.errors import told


def main() -> None:
    """Prints findings and exits with 2 if there are any; `--no-waivers` counts waived text too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates", type=Path, default=Path("article"), help="template folder")
    parser.add_argument("--no-waivers", action="store_true", help="list what was waived, and fail")
    arguments = parser.parse_args()
    with told():
        report = lint_article(arguments.templates)
        report.require_clean()
    if arguments.no_waivers and report.waived:
        for finding, reason in report.waived:
            print(f"{finding}, waived: {reason}")
        sys.exit(2)


if __name__ == "__main__":
    main()
