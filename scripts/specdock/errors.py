"""The error that a user is meant to read: its text is the whole message, without a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class SpecdockError(Exception):
    """A problem that a person can act on; entry points print its text and exit with 2."""


@contextmanager
def told() -> Iterator[None]:
    """Around what an entry point does: a `SpecdockError` is printed as its message alone."""
    try:
        yield
    except SpecdockError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
