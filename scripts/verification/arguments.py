"""The argument's tables: the figures of each, from cells, requests, sessions and raw rows.

Words that describe (what two arms differ in, why a value is missing) are not judged here. Tables
that this module does not know rest on their hash, which it says.
"""

from collections.abc import Callable, Iterator

from verification import correctness, costs, speed, whatif
from verification import limit as bus
from verification.study import BrokenLink, Row, Study, compare

# By table: what makes its rows, and the columns that name one.
ARGUMENTS: dict[str, tuple[Callable[[Study], Iterator[Row]], tuple[str, ...]]] = {
    "acceptance": (speed.acceptance, ("scenario", "arm", "category")),
    "positions": (speed.positions, ("scenario", "arm", "position")),
    "steps": (speed.steps, ("scenario", "arm", "against")),
    "waterfall": (speed.waterfall, ("scenario", "step")),
    "contrasts": (speed.contrasts, ("question", "arm")),
    "waits": (speed.waits, ("scenario", "arm")),
    "crossings": (speed.crossings, ("series", "arm", "against")),
    "sweep": (speed.sweep, ("scenario", "arm", "against")),
    "accuracy": (correctness.accuracy, ("scenario", "arm")),
    "accuracy_pairs": (correctness.accuracy_pairs, ("scenario", "arm", "against")),
    "losslessness": (correctness.losslessness, ("scenario", "arm", "against")),
    "capacity": (costs.capacity, ("arm",)),
    "energy": (costs.energy, ("scenario", "arm")),
    "limit": (bus.limit, ("scenario", "arm")),
    "what_if": (whatif.what_if, ("scenario", "arm")),
    "break_even": (whatif.break_even, ("scenario", "arms")),
    "placed": (whatif.placed, ("scenario", "arms", "acceptance", "figure")),
    "startups": (costs.startups, ("engine",)),
    "drift": (costs.drift, ("scenario",)),
    "scoreboard": (costs.scoreboard, ("figure",)),
}


def check_arguments(study: Study) -> Iterator[str]:
    """Recomputes the tables of `ARGUMENTS`; names the others and what is printed of them."""
    checked = 0
    for name, (rows, keys) in ARGUMENTS.items():
        where = f"{study.shown}/claims/{name}.parquet"
        stated = {
            tuple(row[key] for key in keys): row for row in study.table(f"claims/{name}.parquet")
        }
        computed = {tuple(row[key] for key in keys): row for row in rows(study)}
        for key in stated.keys() ^ computed.keys():
            state = "follows from no source" if key in stated else "is missing"
            raise BrokenLink(f"{where}: the row {'/'.join(map(str, key))} {state}")
        for key, row in computed.items():
            compare(f"{where}, {'/'.join(map(str, key))}", stated[key], row, whole=False)
        checked += len(computed)
    yield f"{checked} rows of {len(ARGUMENTS)} tables of the argument follow from theirs"
    known = {"estimates", "comparisons", "gates", "peers", *ARGUMENTS}
    for path in sorted((study.folder / "claims").glob("*.parquet")):
        file = f"{study.shown}/claims/{path.name}"
        printed = sum(number["source"]["file"] == file for number in study.numbers)
        if path.stem not in known and printed:
            yield f"{printed} printed numbers rest on the hash of claims/{path.name}"
