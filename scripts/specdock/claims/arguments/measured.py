"""What an argument is computed from: the plan, the tables, and the raw rows that they point to."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from specdock.claims.comparisons import cell_values
from specdock.claims.intervals import ONE_START, Basis, Estimate
from specdock.columns import column
from specdock.plan.models import Speculation
from specdock.published.facts import Fact, load_facts

# Columns that say what a row rests on.
BEHIND = [
    column("seeds", pa.int32(), "engine starts behind it, those of the smaller arm if two"),
    column("basis", pa.string(), "between runs, within one run, or no interval"),
    column("cells", pa.list_(pa.string()), "fingerprints of the usable cells behind it"),
    column("synthetic", pa.bool_(), "dummy weights or imposed acceptance touch it"),
    column("reason", pa.string(), "why there is no value or no interval"),
]


def with_interval(name: str, description: str, unit: str = "") -> list[pa.Field]:
    """A column and the two ends of its interval."""
    return [
        column(name, pa.float64(), description, unit),
        column(f"{name}_low", pa.float64(), "lower end of its interval", unit),
        column(f"{name}_high", pa.float64(), "upper end of its interval", unit),
    ]


def spelled(name: str, estimate: Estimate) -> dict[str, float | None]:
    """The three columns of one estimate; ends are None where it has no interval."""
    known = estimate.basis != Basis.NONE.value
    ends = (estimate.low, estimate.high) if known else (np.nan, np.nan)
    columns = zip((name, f"{name}_low", f"{name}_high"), (estimate.value, *ends), strict=True)
    return {column: number(value) for column, value in columns}


def within_unit(share: Estimate) -> Estimate:
    """A share whose interval ends where shares do."""
    return replace(share, low=np.clip(share.low, 0, 1), high=np.clip(share.high, 0, 1))


def based_on(estimate: Estimate) -> dict:
    """The columns `seeds`, `basis` and `reason` of one estimate between runs."""
    seeds = int(estimate.runs)
    return {
        "seeds": seeds,
        "basis": str(estimate.basis),
        "reason": ONE_START if seeds == 1 else None,
    }


def number(value: object) -> float | None:
    """A float that a Parquet file may hold; None for NaN."""
    return None if value is None or np.isnan(value) else float(value)


@dataclass(frozen=True)
class Measured:
    """A measured study under the repository root; its tables are read once."""

    plan: Mapping
    tables: Path
    root: Path

    @cached_property
    def usable(self) -> pd.DataFrame:
        """tables/cells.parquet, usable cells only, with that of the drift control."""
        cells = pq.read_table(self.tables / "cells.parquet").to_pandas()
        return cells[cells["usable"]]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Usable cells of the study's arms."""
        return self.usable[self.usable["arm"].isin(self.arms)]

    @cached_property
    def requests(self) -> pd.DataFrame:
        """Complete requests of usable cells, from tables/requests.parquet, with their order."""
        wanted = ["cell", "arm", "scenario", "seed", "session", "prompt_id", "category", "correct"]
        wanted += ["completion_tokens", "steps", "raw_file", "raw_row", "error"]
        rows = pq.read_table(self.tables / "requests.parquet", columns=wanted).to_pandas()
        return rows[rows["cell"].isin(self.cells["cell"]) & rows["error"].isna()]

    @cached_property
    def prompts(self) -> dict[str, pd.Index]:
        """Prompts that some start answered, by scenario."""
        answered = self.requests.groupby("scenario", sort=False)["prompt_id"]
        return {scenario: pd.Index(own.unique()) for scenario, own in answered}

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """tables/sessions.parquet in the order of starting; facts in JSON decoded."""
        rows = pq.read_table(self.tables / "sessions.parquet").to_pandas()
        for name in ("host", "gpu", "checkpoints"):
            rows[name] = [json.loads(text or "null") or {} for text in rows[name]]
        return rows.sort_values("started_at", ignore_index=True)

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """config/facts.yaml."""
        return load_facts(self.root)

    @cached_property
    def arms(self) -> list[str]:
        """Names of the arms, in the order of config."""
        return list(self.plan["arms"])

    @cached_property
    def scenarios(self) -> dict[str, Mapping]:
        """Scenarios by id."""
        return {scenario["id"]: scenario for scenario in self.plan["scenarios"]}

    @property
    def seeds(self) -> list[int]:
        """Seeds in the order of config."""
        return self.plan["seeds"]

    def role(self, *roles: str) -> list[str]:
        """The arms that play one of these roles, each once."""
        played = [self.plan["roles"].get(role) or [] for role in roles]
        names = [[arms] if isinstance(arms, str) else arms for arms in played]
        return list(dict.fromkeys(arm for arms in names for arm in arms))

    def speculates(self, arm: str) -> bool:
        """Whether an arm makes draft tokens at all."""
        return self.plan["arms"][arm]["speculation"]["method"] != "none"

    def imposes(self, arm: str) -> bool:
        """Whether an arm's acceptance is imposed, so that its text is noise by design."""
        return Speculation.model_validate(self.plan["arms"][arm]["speculation"]).imposed

    def decodes(self, scenario: str) -> bool:
        """Whether a scenario measures decoding: a prompt that is cut to more tokens than its answer
        may have measures prefill."""
        spec = self.scenarios[scenario]
        return (spec.get("prompt_tokens") or 0) <= spec["max_tokens"]

    def series(self) -> dict[str, list[Mapping]]:
        """Scenarios that differ in their streams alone, by name, in the order of streams."""
        found: dict[str, list[Mapping]] = {}
        for scenario in sorted(self.plan["scenarios"], key=lambda row: row["streams"]):
            found.setdefault(scenario["id"].rpartition("@")[0], []).append(scenario)
        return found

    def values(
        self, metric: str, arms: Sequence[str], scenarios: Sequence[str]
    ) -> NDArray[np.float64]:
        """Usable cells as [arms, scenarios, seeds], NaN elsewhere."""
        if metric not in self._grids:
            every = list(self.scenarios)
            self._grids[metric] = cell_values(self.cells, metric, self.arms, every, self.seeds)
        rows = [self.arms.index(arm) for arm in arms]
        columns = [list(self.scenarios).index(scenario) for scenario in scenarios]
        return self._grids[metric][np.ix_(rows, columns)]

    def behind(self, arms: Iterable[str], scenarios: Iterable[str]) -> dict:
        """The columns `cells` and `synthetic` of some arms in some scenarios."""
        rows = [self._places.get((arm, s)) for arm in dict.fromkeys(arms) for s in scenarios]
        known = [row for row in rows if row]
        return {
            "cells": [cell for cells, _ in known for cell in cells],
            "synthetic": any(synthetic for _, synthetic in known),
        }

    def raw(self, rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
        """Raw columns of some rows of `requests`, in their order and under their index."""
        found = []
        for file, own in rows.groupby("raw_file", sort=False):
            table = pq.read_table(self.root / file, columns=columns).take(own["raw_row"].tolist())
            found.append(table.to_pandas().set_index(own.index))
        return pd.concat(found).loc[rows.index] if found else pd.DataFrame(columns=columns)

    @cached_property
    def _grids(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def _places(self) -> dict[tuple[str, str], tuple[list[str], bool]]:
        return {
            place: (rows["cell"].tolist(), bool(rows["synthetic"].any()))
            for place, rows in self.cells.groupby(["arm", "scenario"])
        }
