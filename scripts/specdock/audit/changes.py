"""Numbers that changed since a revision, each judged by the interval that it had then."""

import json
import subprocess
from typing import NamedTuple

from specdock.audit.printed import PrintedNumbers, Row
from specdock.errors import SpecdockError


class Changed(NamedTuple):
    """A number then and now; None where it did not exist. `judged` says how much it moved."""

    id: str
    before: str | None
    after: str | None
    judged: str


def changes(revision: str, study: PrintedNumbers) -> list[Changed]:
    """Numbers whose printed text or value differs from that of a git revision.

    Raises `SpecdockError` if the revision has no ledger of this study.
    """
    then = {number["id"]: number for number in _numbers_at(revision, study)}
    now = {number["id"]: number for number in study.numbers}
    found = []
    for name in dict.fromkeys([*now, *then]):
        before, after = then.get(name), now.get(name)
        if before is None or after is None:
            state = "new" if before is None else "gone"
            texts = [number and number["printed"] for number in (before, after)]
            found.append(Changed(name, *texts, state))
        elif (before["printed"], before["value"]) != (after["printed"], after["value"]):
            found.append(Changed(name, before["printed"], after["printed"], judged(before, after)))
    return found


def judged(before: Row, after: Row) -> str:
    """`inside its interval`, `outside its interval`, or that there was none to judge by."""
    if before["low"] is None or after["value"] is None:
        return "no interval"
    inside = before["low"] <= after["value"] <= before["high"]
    return f"{'inside' if inside else 'outside'} its interval"


def _numbers_at(revision: str, study: PrintedNumbers) -> list[Row]:
    file = (study.folder / "article/numbers.json").relative_to(study.root).as_posix()
    command = ["git", "-C", str(study.root), "show", f"{revision}:./{file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SpecdockError(f"{file}: not in git at {revision}\n  git says {done.stderr.strip()}")
    return json.loads(done.stdout)["numbers"]
