"""Holds every ledger against its article and records what was found."""

import os
from pathlib import Path

from specdock.plan.problems import ConfigError, Problem
from specdock.published.account import Account, account_for
from specdock.published.arithmetic import wrong_figures
from specdock.published.digests import (
    DIGESTS,
    changed_since_found,
    digest_of,
    load_digests,
    write_digests,
)
from specdock.published.ledger import load_ledger

ARTICLES_VARIABLE = "SPECDOCK_PUBLISHED"
ARTICLES_FOLDER = "../shared/published"


def ledger_names(root: Path) -> list[str]:
    """Names of the ledgers under config/published."""
    files = (root / "config/published").glob("*.yaml")
    return sorted(file.stem for file in files if file != root / DIGESTS)


def articles_folder(root: Path) -> Path:
    """Where the articles lie, if they are at hand: they are no part of the repository."""
    return Path(os.environ.get(ARTICLES_VARIABLE) or root / ARTICLES_FOLDER)


def refind(root: Path) -> dict[str, Account]:
    """Re-finds every ledger and rewrites the digests; raises `ConfigError` with all problems."""
    accounts, digests, problems = {}, {}, []
    for name in ledger_names(root):
        ledger = load_ledger(root, name)
        path = articles_folder(root) / ledger.article
        if not path.is_file():
            hint = f"set {ARTICLES_VARIABLE} to the folder that holds it"
            problems.append(Problem(str(path), "", "no such file", hint=hint))
            continue
        article = path.read_bytes()
        account = accounts[name] = account_for(ledger, article.decode("utf-8"))
        problems += account.problems + wrong_figures(ledger)
        digests[name] = digest_of(ledger, article, account.numbers, account.figures)
    if problems:
        raise ConfigError(problems)
    write_digests(root, digests)
    return accounts


def check_without_articles(root: Path) -> None:
    """What can be said where the articles are absent: the arithmetic holds, and each ledger still
    claims what was last found; raises `ConfigError` otherwise."""
    digests, problems = load_digests(root), []
    for name in ledger_names(root):
        ledger = load_ledger(root, name)
        problems += wrong_figures(ledger) + changed_since_found(ledger, name, digests.get(name))
    if problems:
        raise ConfigError(problems)
