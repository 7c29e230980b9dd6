"""How much is accepted, of which text and at which place, and what a verification step costs.

Only one definition stands in these tables, `al.committed`: (tokens - 1) over decode steps, pooled.
A step that costs c plain steps pays for itself where more than c tokens are kept of it (Leviathan,
Kalman & Matias 2023, theorem 3.8, with the cost of a step measured instead of modelled).
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from specdock.claims.arguments.measured import (
    BEHIND,
    Measured,
    based_on,
    number,
    spelled,
    with_interval,
    within_unit,
)
from specdock.claims.intervals import Scale, mean_over_runs, ratio
from specdock.claims.verdicts import verdicts
from specdock.columns import column
from specdock.tables.acceptance import conditional_rates

ACCEPTANCE = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "speculating arm"),
        column("category", pa.string(), "subject of the prompts"),
        *with_interval("length", "acceptance length, al.committed", "tokens"),
        column("requests", pa.int32(), "requests behind it"),
        *BEHIND,
    ]
)
POSITIONS = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "speculating arm"),
        column("position", pa.int32(), "place in the draft, from 1"),
        *with_interval("accepted", "share of drafts accepted up to this position"),
        column("conditional", pa.float64(), "the same, of drafts accepted up to the one before"),
        *BEHIND,
    ]
)
STEPS = pa.schema(
    [
        column("scenario", pa.string(), "scenario"),
        column("arm", pa.string(), "speculating arm"),
        column("against", pa.string(), "plain decoding"),
        column("step_time", pa.float64(), "decode time per verification step", "ms"),
        column("plain_step_time", pa.float64(), "decode time per step of plain decoding", "ms"),
        *with_interval("cost", "a verification step in plain steps, the length that breaks even"),
        *with_interval("length", "acceptance length, al.committed", "tokens"),
        *with_interval("worth", "acceptance length over the cost of a step: decoding over plain"),
        *with_interval("rate", "output rate over plain decoding's"),
        *with_interval("rest", "that over what the steps predict: what lies outside the steps"),
        column("band", pa.float64(), "inside it the steps explain the rate, fixed in config"),
        column("verdict", pa.string(), "of the rest: better, worse, equivalent or undecided"),
        *BEHIND,
    ]
)


def acceptance(measured: Measured) -> Iterator[dict]:
    """Rows of `ACCEPTANCE`, where prompts have a category."""
    rows = measured.requests.dropna(subset=["category", "steps", "completion_tokens"])
    rows = rows[rows["arm"].map(measured.speculates)]
    if rows.empty:
        return
    kept = rows.assign(kept=rows["completion_tokens"] - 1)
    keys = ["scenario", "arm", "category"]
    totals = kept.groupby([*keys, "seed"])[["kept", "steps"]].sum()
    counts = kept.groupby(keys).size()
    lengths = (totals["kept"] / totals["steps"].where(totals["steps"] > 0)).unstack("seed")
    lengths = lengths.reindex(columns=measured.seeds).dropna(how="all")
    found = mean_over_runs(lengths.to_numpy())
    for index, (scenario, arm, category) in enumerate(lengths.index):
        yield {
            "scenario": scenario,
            "arm": arm,
            "category": category,
            **spelled("length", found[index]),
            "requests": int(counts[scenario, arm, category]),
            **based_on(found[index]),
            **measured.behind([arm], [scenario]),
        }


def positions(measured: Measured) -> Iterator[dict]:
    """Rows of `POSITIONS`, from the engine's counters."""
    cells = measured.cells.dropna(subset=["accepted_per_position"])
    for (scenario, arm), own in cells.groupby(["scenario", "arm"], sort=False):
        shares = pd.DataFrame(own["accepted_per_position"].tolist(), index=own["seed"])
        values = shares.reindex(measured.seeds).to_numpy().T
        found = within_unit(mean_over_runs(values, Scale.LINEAR))
        conditional = conditional_rates(found.value)
        for index in range(len(values)):
            yield {
                "scenario": scenario,
                "arm": arm,
                "position": index + 1,
                **spelled("accepted", found[index]),
                "conditional": number(conditional[index]),
                **based_on(found[index]),
                **measured.behind([arm], [scenario]),
            }


def steps(measured: Measured) -> Iterator[dict]:
    """Rows of `STEPS`: speculating arms beside plain decoding, where both count their steps."""
    drafting = [arm for arm in measured.arms if measured.speculates(arm)]
    band = measured.plan["band"].get("output_rate", 0.0)
    scenarios = list(measured.scenarios)
    step, rate, length = (
        measured.values(metric, drafting, scenarios)
        for metric in ("step_time", "output_rate", "al_committed")
    )
    for plain in measured.role("reference"):
        plain_step, plain_rate = (
            measured.values(metric, [plain], scenarios) for metric in ("step_time", "output_rate")
        )
        columns = {
            "cost": ratio(step, plain_step),
            "length": mean_over_runs(length),
            "worth": ratio(length / step, 1 / plain_step),
            "rate": ratio(rate, plain_rate),
            "rest": ratio(rate * step / length, plain_rate * plain_step),
        }
        means = {
            "step_time": mean_over_runs(step).value,
            "plain_step_time": np.broadcast_to(mean_over_runs(plain_step).value, step.shape[:2]),
        }
        words = verdicts(columns["rest"], band, higher_is_better=True)
        known = ~np.isnan([*means.values(), columns["length"].value]).any(axis=0)
        for at in zip(*np.nonzero(known.T)[::-1], strict=True):
            arm, scenario = drafting[at[0]], scenarios[at[1]]
            yield {
                "scenario": scenario,
                "arm": arm,
                "against": plain,
                **{name: number(mean[at]) for name, mean in means.items()},
                **{
                    key: value
                    for name, found in columns.items()
                    for key, value in spelled(name, found[at]).items()
                },
                "band": band,
                "verdict": str(words[at]),
                **based_on(columns["cost"][at]),
                **measured.behind([arm, plain], [scenario]),
            }
