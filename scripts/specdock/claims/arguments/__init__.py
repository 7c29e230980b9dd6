"""The argument's own claims: one table a question, each with the function that makes its rows."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pyarrow as pa

from specdock.claims.arguments import correctness
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
}
