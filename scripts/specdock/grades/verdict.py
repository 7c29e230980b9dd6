"""What a grader says of one answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Right or not, how that came about (a code), and what of the answer was graded."""

    correct: bool
    outcome: str
    extracted: str | None = None
