"""Fingerprints of code are the same on every Python."""

from specdock.plan.fingerprint import code_fingerprint

SOURCE = '''
"""Text."""
from dataclasses import dataclass

@dataclass(frozen=True)
class Part:
    size: int = 3
    """Text of a field."""

    def grown(self, by: float = 0.5, *, again=(None, ..., b"x")) -> str:  # why
        return f"{self.size + by:.2f} of {again!r}"
'''


def fingerprint_of(tmp_path, source: str) -> str:
    path = tmp_path / "module.py"
    path.write_text(source)
    return code_fingerprint([path], tmp_path)


def test_the_fingerprint_is_that_of_another_python(tmp_path):
    # Made by 3.10 to 3.13, whose syntax trees differ in empty fields.
    assert fingerprint_of(tmp_path, SOURCE) == "a4bca76db90fd240"


def test_a_changed_default_changes_it_and_a_comment_does_not(tmp_path):
    before = fingerprint_of(tmp_path, SOURCE)
    assert fingerprint_of(tmp_path, SOURCE.replace("  # why", "")) == before
    assert fingerprint_of(tmp_path, SOURCE.replace("0.5", "0.25")) != before
    assert fingerprint_of(tmp_path, SOURCE.replace("0.5", "0")) != before
