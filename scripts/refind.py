"""Finds every published figure again in its article and records the digests of what was found."""

import sys
from pathlib import Path

from specdock.errors import SpecdockError
from specdock.published.refind import articles_folder, check_without_articles, refind


def main() -> None:
    """Checks all ledgers, from the repository root, and prints what each accounts for."""
    root = Path.cwd()
    try:
        if not articles_folder(root).is_dir():
            check_without_articles(root)
            print(f"the articles are not in {articles_folder(root)}: checked against their digests")
            return
        accounts = refind(root)
    except SpecdockError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    for name, account in accounts.items():
        print(
            f"{name}: {account.numbers} numbers, {account.figures} of them figures, "
            f"{account.not_figures} not"
        )


if __name__ == "__main__":
    main()
