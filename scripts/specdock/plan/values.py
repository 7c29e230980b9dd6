"""The small value types of config: percentages, names, commits, hashes and schedules."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

_PERCENT = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*%\s*$")
_RANGE = re.compile(r"^(\d+)-(\d+)$")


def parse_fraction(value: object) -> object:
    """`"3%"` and `0.03` both mean 0.03; anything else is left to pydantic to refuse."""
    if isinstance(value, str):
        found = _PERCENT.match(value)
        if not found:
            raise ValueError(f"'{value}' is neither a number nor a percentage such as 3%")
        return float(found.group(1)) / 100
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", value):
        raise ValueError("names are lower-case letters, digits, '.', '-' and '_'")
    return value


def _schedule(value: dict[str, int]) -> dict[str, int]:
    last = 0
    for key, drafts in value.items():
        found = _RANGE.match(key)
        if not found:
            raise ValueError(f"'{key}' is not a range of batch sizes such as 1-12")
        first, end = int(found.group(1)), int(found.group(2))
        if first != last + 1 or end < first:
            raise ValueError(f"range {key} must start at {last + 1} and not end before it starts")
        if drafts < 0:
            raise ValueError(f"range {key} asks for {drafts} draft tokens")
        last = end
    return value


Name = Annotated[str, AfterValidator(_name)]
Fraction = Annotated[float, BeforeValidator(parse_fraction, json_schema_input_type=float | str)]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Schedule = Annotated[dict[str, int], AfterValidator(_schedule)]


def schedule_ranges(schedule: dict[str, int]) -> list[tuple[int, int, int]]:
    """`{"1-12": 7}` as `[(1, 12, 7)]`: first and last batch size (inclusive), draft tokens."""
    return [(*map(int, key.split("-")), drafts) for key, drafts in schedule.items()]


def drafts_at(streams: int, draft_tokens: int | None, schedule: dict[str, int] | None) -> int:
    """Draft tokens of a step of so many requests, by the schedule if there is one."""
    ranges = schedule_ranges(schedule or {})
    scheduled = (drafts for first, last, drafts in ranges if first <= streams <= last)
    return next(scheduled, draft_tokens or 0)
