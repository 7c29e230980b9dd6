"""What the article reads of a study: its plan, its claims and the two tables with one row a cell
or a session. Request rows stay on disk; `samples.py` reads the few that a drawer shows."""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from specdock.claims.arguments import ARGUMENTS
from specdock.errors import SpecdockError
from specdock.plan.fingerprint import sha256_of
from specdock.published.facts import Fact, load_facts
from specdock.published.ledger import Figure, load_ledger
from specdock.runs.repository import repository_state

Row = dict[str, Any]


class StudyIncomplete(SpecdockError):
    """A file or a key that the article needs is not there."""


@dataclass(frozen=True)
class Arm:
    """One served configuration, as the plan resolved it."""

    name: str
    spec: dict = field(repr=False, hash=False)

    @property
    def speculates(self) -> bool:
        """Whether draft tokens are made at all."""
        return self.spec["speculation"]["method"] != "none"


@dataclass(frozen=True)
class Scenario:
    """A workload at one concurrency."""

    id: str
    spec: dict = field(repr=False, hash=False)

    @property
    def streams(self) -> int:
        """Closed-loop concurrency."""
        return self.spec["streams"]

    @property
    def graded(self) -> bool:
        """Whether answers are graded."""
        return self.spec["grade"] is not None

    @property
    def title(self) -> str:
        """`essays, 8 streams`, with the sampling setting where it is not greedy."""
        name = self.id.rpartition("@")[0]
        return f"{name}, {self.streams} stream{'s' if self.streams != 1 else ''}"


class Study:
    """A measured study under results/<name>, read once.

    Raises `StudyIncomplete` with the file that is missing or the key that the plan lacks.
    """

    def __init__(self, folder: Path, root: Path):
        self.root = root
        self.name = folder.name
        self.folder = folder.relative_to(root).as_posix()
        self.plan: dict = json.loads(self._existing(self.file("plan.json")).read_text("utf-8"))
        try:
            self.arms = {name: Arm(name, spec) for name, spec in self.plan["arms"].items()}
            self.scenarios = {row["id"]: Scenario(row["id"], row) for row in self.plan["scenarios"]}
            self.seeds: list[int] = self.plan["seeds"]
            self.roles = {
                role: [arms] if isinstance(arms, str) else arms
                for role, arms in self.plan["roles"].items()
            }
            published = self.plan["published"]
        except KeyError as key:
            raise StudyIncomplete(f"{self.file('plan.json')}: key {key} is missing") from None
        self.commit: str = repository_state(root)["commit"]
        self.facts: dict[str, Fact] = load_facts(root)
        self.ledger = load_ledger(root, published) if published else None
        figures = self.ledger.figures if self.ledger else []
        figures += [f for name in self._placed(published) for f in load_ledger(root, name).figures]
        self.published: dict[str, Figure] = {figure.id: figure for figure in figures}
        self._digests: dict[str, str] = {}

    def _placed(self, published: str | None) -> list[str]:
        """Further ledgers, of the drafters that a what-if places on its curve."""
        named = self.plan.get("published_drafters", {})
        return sorted({drafter.partition("/")[0] for drafter in named} - {published})

    def file(self, name: str) -> str:
        """A file of this study, from the repository root."""
        return f"{self.folder}/{name}"

    def started(self, arm: str) -> bool:
        """Whether the arm's engine was ever started."""
        return any(row["arm"] == arm for row in self.sessions.values())

    # Claims

    @cached_property
    def estimates(self) -> dict[tuple[str, str, str], Row]:
        """Rows of claims/estimates.parquet by (metric, arm, scenario)."""
        rows = self._rows("claims/estimates.parquet")
        return {(row["metric"], row["arm"], row["scenario"]): row for row in rows}

    @cached_property
    def comparisons(self) -> dict[tuple[str, str, str, str], Row]:
        """Rows of claims/comparisons.parquet by (metric, arm, against, scenario).

        A metric is compared by ratio or by difference, which the row's `form` says.
        """
        keys = ("metric", "arm", "against", "scenario")
        rows = self._rows("claims/comparisons.parquet")
        return {tuple(row[key] for key in keys): row for row in rows}

    @cached_property
    def gates(self) -> list[Row]:
        """Rows of claims/gates.parquet."""
        return self._rows("claims/gates.parquet")

    @cached_property
    def arguments(self) -> dict[str, list[Row]]:
        """Rows of the argument's own claims, by table."""
        return {name: self._rows(f"claims/{name}.parquet") for name in ARGUMENTS}

    @cached_property
    def peers(self) -> list[Row]:
        """Rows of claims/peers.parquet; none where the study compares no clients."""
        return self._rows("claims/peers.parquet") if self.plan.get("peers") else []

    # Tables

    @cached_property
    def cells(self) -> dict[str, Row]:
        """Rows of tables/cells.parquet by cell; `raw_rows` is a numpy array, `raw_ranges` the same
        in words."""
        path = self._existing(self.file("tables/cells.parquet"))
        table = pq.read_table(path)
        rows = table.drop_columns(["raw_rows"]).to_pylist()
        for row, raw in zip(rows, table["raw_rows"], strict=True):
            row["raw_rows"] = np.asarray(raw.values) if raw.is_valid else np.empty(0, np.int64)
            row["raw_ranges"] = ranges(row["raw_rows"])
        return {row["cell"]: row for row in rows}

    @cached_property
    def cells_of(self) -> dict[tuple[str, str], list[Row]]:
        """Cells by (arm, scenario), in the order of seeds."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in sorted(self.cells.values(), key=lambda row: row["seed"]):
            found.setdefault((row["arm"], row["scenario"]), []).append(row)
        return found

    @cached_property
    def sessions(self) -> dict[str, Row]:
        """Rows of tables/sessions.parquet by session."""
        return {row["session"]: row for row in self._rows("tables/sessions.parquet")}

    # Hashes

    def digest(self, file: str) -> str:
        """sha256 of a file named from the repository root, as it is now."""
        if file not in self._digests:
            self._digests[file] = sha256_of(self._existing(file))
        return self._digests[file]

    def hash_ahead(self, files: Iterable[str]) -> None:
        """Hashes many files, as many at once as this machine has cores."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.digest, sorted(set(files))))

    def _existing(self, file: str) -> Path:
        path = self.root / file
        if not path.is_file():
            raise StudyIncomplete(
                f"{file}: no such file; the article of {self.name} needs it.\n"
                "  run `snakemake --cores 1 article`, or restore the file if it was committed"
            )
        return path

    def _rows(self, name: str) -> list[Row]:
        return pq.read_table(self._existing(self.file(name))).to_pylist()


def ranges(rows: np.ndarray) -> str:
    """Row numbers as inclusive ranges: `0-31, 40`."""
    rows = np.unique(rows)
    if not len(rows):
        return ""
    breaks = np.flatnonzero(np.diff(rows) != 1)
    starts, ends = rows[np.r_[0, breaks + 1]], rows[np.r_[breaks, len(rows) - 1]]
    return ", ".join(
        f"{start}-{end}" if start != end else str(start)
        for start, end in zip(starts, ends, strict=True)
    )
