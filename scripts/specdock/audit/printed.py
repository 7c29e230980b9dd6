"""The printed numbers of a rendered study, with the tables that their chains lead to."""

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq

from specdock.errors import SpecdockError

Row = dict


@dataclass(frozen=True)
class PrintedNumbers:
    """A study's ledger as it was rendered; `folder` is results/<study> under `root`."""

    folder: Path
    root: Path

    @cached_property
    def numbers(self) -> list[Row]:
        """Rows of numbers.json; raises `SpecdockError` where the article is missing."""
        path = self.folder / "article/numbers.json"
        if not path.is_file():
            raise SpecdockError(
                f"{path.relative_to(self.root)}: no such file\n"
                f"  run `snakemake --cores 1 article --config study={self.folder.name}`"
            )
        return json.loads(path.read_text(encoding="utf-8"))["numbers"]

    @cached_property
    def plan(self) -> dict:
        """The resolved study."""
        return json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))

    @cached_property
    def sessions(self) -> dict[str, Row]:
        """Rows of tables/sessions.parquet by session."""
        rows = pq.read_table(self.folder / "tables/sessions.parquet").to_pylist()
        return {row["session"]: row for row in rows}

    @cached_property
    def comparisons(self) -> list[Row]:
        """Rows of claims/comparisons.parquet."""
        return pq.read_table(self.folder / "claims/comparisons.parquet").to_pylist()

    def find(self, query: str) -> list[Row]:
        """The number with this id, or every number that prints this figure or these words.

        A figure is found whole: 3.3 is no part of 303.3. Raises `SpecdockError` for none.
        """
        exact = [number for number in self.numbers if number["id"] == query]
        figure = re.compile(rf"(?<![\w.,]){re.escape(query)}(?![\w]|[.,]\d)", re.IGNORECASE)
        found = exact or [number for number in self.numbers if figure.search(number["printed"])]
        if not found:
            known = {name for number in self.numbers for name in (number["printed"], number["id"])}
            near = get_close_matches(query, known, n=3)
            hint = f"\n  did you mean {', '.join(near)}?" if near else ""
            raise SpecdockError(f"{self.folder.name}: no number prints {query!r}{hint}")
        return found


def rendered_study(root: Path, name: str | None, default: str) -> PrintedNumbers:
    """The study that is asked for: by name, else the default one, else the only one rendered."""
    rendered = sorted(p.parents[1].name for p in root.glob("results/*/article/numbers.json"))
    if name is None:
        name = default if default in rendered or len(rendered) != 1 else rendered[0]
    if name not in rendered:
        raise SpecdockError(
            f"results/{name}/article: nothing is rendered there\n"
            f"  found    {', '.join(rendered) or 'no rendered study'}\n"
            f"  run      snakemake --cores 1 article --config study={name}, or give --study"
        )
    return PrintedNumbers(root / "results" / name, root)
