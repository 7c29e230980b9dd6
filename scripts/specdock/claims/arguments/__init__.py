"""The argument's own claims: one table a question, each with the function that makes its rows."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pyarrow as pa

from specdock.claims.arguments import (
    acceptance,
    bill,
    chain,
    contrasts,
    correctness,
    drift,
    energy,
    limit,
    load,
    scoreboard,
    sweep,
    whatif,
)
from specdock.claims.arguments.measured import Measured


class Argument(NamedTuple):
    """A table of claims: its columns, what makes its rows, and the columns that name a row."""

    schema: pa.Schema
    rows: Callable[[Measured], Iterable[dict]]
    keys: tuple[str, ...]


_ARM = ("scenario", "arm")
_PAIR = ("scenario", "arm", "against")

ARGUMENTS: dict[str, Argument] = {
    "accuracy": Argument(correctness.ACCURACY, correctness.accuracy, _ARM),
    "accuracy_pairs": Argument(correctness.ACCURACY_PAIRS, correctness.accuracy_pairs, _PAIR),
    "losslessness": Argument(correctness.LOSSLESSNESS, correctness.losslessness, _PAIR),
    "acceptance": Argument(acceptance.ACCEPTANCE, acceptance.acceptance, (*_ARM, "category")),
    "positions": Argument(acceptance.POSITIONS, acceptance.positions, (*_ARM, "position")),
    "steps": Argument(acceptance.STEPS, acceptance.steps, _PAIR),
    "waterfall": Argument(chain.WATERFALL, chain.chain, ("scenario", "step")),
    "contrasts": Argument(contrasts.CONTRASTS, contrasts.contrasts, ("question", "arm")),
    "waits": Argument(load.WAITS, load.queueing, _ARM),
    "crossings": Argument(load.CROSSINGS, load.crossings, ("series", "arm", "against")),
    "schedules": Argument(load.SCHEDULES, load.schedules, ("series", "arms", "first")),
    "scheduled": Argument(load.SCHEDULED, load.scheduled, _ARM),
    "sweep": Argument(sweep.SWEEP, sweep.sweep, _PAIR),
    "capacity": Argument(bill.CAPACITY, bill.capacity, ("arm",)),
    "startups": Argument(bill.STARTUPS, bill.startups, ("engine",)),
    "energy": Argument(energy.ENERGY, energy.energy, _ARM),
    "limit": Argument(limit.LIMIT, limit.limit, _ARM),
    "what_if": Argument(whatif.WHAT_IF, whatif.what_if, _ARM),
    "break_even": Argument(whatif.BREAK_EVEN, whatif.break_even, ("scenario", "arms")),
    "placed": Argument(whatif.PLACED, whatif.placed, ("scenario", "arms", "acceptance", "figure")),
    "drift": Argument(drift.DRIFT, drift.drift, ("scenario",)),
    "scoreboard": Argument(scoreboard.SCOREBOARD, scoreboard.scoreboard, ("figure",)),
}
