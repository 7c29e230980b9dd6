"""The error that a user is meant to read: its text is the whole message, without a traceback."""


class SpecdockError(Exception):
    """A problem that a person can act on; entry points print its text and exit with 2."""
