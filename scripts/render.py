"""Renders a measured study into its article, audit page, figures and ledger: the rule `render`."""

import argparse
from pathlib import Path

from specdock.article.render import render
from specdock.article.study import Study
from specdock.errors import told


def main() -> None:
    """Reads a study's results and writes the files of its article."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<study>")
    parser.add_argument("--templates", type=Path, default=Path("article"), help="template folder")
    parser.add_argument("--out", type=Path, required=True, help="folder of the article")
    arguments = parser.parse_args()
    root = Path.cwd()
    with told():
        study = Study(root / arguments.study, root)
        render(study, root / arguments.templates, root / arguments.out)


if __name__ == "__main__":
    main()
