"""Did speculation change the answers: shares correct, and outputs beside those of a control.

The control is plain decoding against its own other starts: greedy outputs differ between any two
runs whose batches were put together differently, so an arm is asked to agree with plain decoding as
often as plain decoding agrees with itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from specdock.claims.accuracy import share, share_difference
from specdock.claims.arguments.measured import BEHIND, Measured, spelled, with_interval
from specdock.claims.intervals import Estimate
from specdock.claims.losslessness import first_divergence, grade
from specdock.claims.pairs import pairs_of
from specdock.claims.verdicts import verdicts
from specdock.columns import column

FEWEST_PROMPTS = 2

ACCURACY = pa.schema(
    [
        column("scenario", pa.string(), "graded scenario"),
        column("arm", pa.string(), "arm"),
        *with_interval("share", "share correct; prompts and starts are crossed"),
        column("prompts", pa.int32(), "prompts that every start of the arm answered"),
        *BEHIND,
    ]
)
ACCURACY_PAIRS = pa.schema(
    [
        column("scenario", pa.string(), "graded scenario"),
        column("arm", pa.string(), "arm"),
        column("against", pa.string(), "arm that it is compared with, prompt by prompt"),
        *with_interval("difference", "share correct less the other's, paired by start and prompt"),
        column("gained", pa.int32(), "prompts correct here in a start and wrong there"),
        column("lost", pa.int32(), "prompts wrong here in a start and correct there"),
        column("prompts", pa.int32(), "prompts that every start of both arms answered"),
        column("band", pa.float64(), "inside it shares count as equal, fixed in config"),
        column("verdict", pa.string(), "better, worse, equivalent or undecided"),
        *BEHIND,
    ]
)
LOSSLESSNESS = pa.schema(
    [
        column("scenario", pa.string(), "greedy scenario"),
        column("arm", pa.string(), "speculating arm"),
        column("against", pa.string(), "plain decoding of the same target"),
        *with_interval("same", "share of outputs that equal those of another plain start"),
        *with_interval("control", "share of plain outputs that equal those of another start"),
        *with_interval("difference", "the arm's share less the control's"),
        column("divergence", pa.float64(), "median first difference, where outputs differ"),
        column("control_divergence", pa.float64(), "the same, between plain starts"),
        column("outputs", pa.int32(), "outputs compared"),
        column("compared_as", pa.string(), "token ids or characters"),
        column("band", pa.float64(), "inside it shares count as equal, fixed in config"),
        column("verdict", pa.string(), "better, worse, equivalent or undecided"),
        *BEHIND,
    ]
)
_ONE_START = "one engine start: the interval speaks of its prompts alone"
_ONE_PAIR = "one pair of plain starts: the interval speaks of its prompts alone"


def accuracy(measured: Measured) -> Iterator[dict]:
    """Rows of `ACCURACY`."""
    tables = _answers(measured)
    for scenario, arm in product(measured.scenarios, measured.arms):
        answers = tables.get((scenario, arm))
        if answers is None:
            continue
        found = share(answers.to_numpy())
        yield {
            "scenario": scenario,
            "arm": arm,
            **spelled("share", found),
            "prompts": answers.shape[1],
            **_behind(measured, found, [arm], scenario),
        }


def accuracy_pairs(measured: Measured) -> Iterator[dict]:
    """Rows of `ACCURACY_PAIRS`."""
    band = measured.plan["band"].get("accuracy", 0.0)
    answers = _answers(measured)
    for scenario, (arm, against) in product(measured.scenarios, pairs_of(measured.plan)):
        ours, theirs = (answers.get((scenario, name)) for name in (arm, against))
        if ours is None or theirs is None:
            continue
        starts = ours.index.intersection(theirs.index)
        prompts = ours.columns.intersection(theirs.columns)
        if starts.empty or len(prompts) < FEWEST_PROMPTS:
            continue
        left, right = (side.loc[starts, prompts].to_numpy() for side in (ours, theirs))
        found = share_difference(left, right)
        yield {
            "scenario": scenario,
            "arm": arm,
            "against": against,
            **spelled("difference", found),
            "gained": int((left > right).sum()),
            "lost": int((left < right).sum()),
            "prompts": len(prompts),
            "band": band,
            "verdict": str(verdicts(found, band, higher_is_better=True)),
            **_behind(measured, found, [arm, against], scenario),
        }


def losslessness(measured: Measured) -> Iterator[dict]:
    """Rows of `LOSSLESSNESS`: speculating arms with the reference's target, greedy scenarios."""
    band = measured.plan["band"].get("identical_share", 0.0)
    greedy = [s for s, spec in measured.scenarios.items() if spec["sampling"]["temperature"] == 0]
    controls: dict = {}
    for plain in measured.role("reference"):
        theirs = _outputs(measured, plain, greedy)
        for arm in _with_target_of(measured, plain):
            for scenario, outputs in _outputs(measured, arm, greedy).items():
                if scenario in theirs:
                    yield {
                        "scenario": scenario,
                        "arm": arm,
                        "against": plain,
                        "band": band,
                        **_compared(outputs, theirs[scenario], band, controls),
                        **measured.behind([arm, plain], [scenario]),
                    }


def _answers(measured: Measured) -> dict[tuple[str, str], pd.DataFrame]:
    """By scenario and arm: grades as starts down, prompts across; prompts that each start
    answered."""
    rows = measured.requests.dropna(subset=["correct"]).astype({"correct": float})
    tables = {
        place: own.pivot_table("correct", "seed", "prompt_id").dropna(axis="columns")
        for place, own in rows.groupby(["scenario", "arm"], sort=False)
    }
    return {place: own for place, own in tables.items() if own.shape[1] >= FEWEST_PROMPTS}


def _with_target_of(measured: Measured, plain: str) -> list[str]:
    arms = measured.plan["arms"]
    target = arms[plain]["target"]["pin"]
    return [
        a for a in measured.arms if measured.speculates(a) and arms[a]["target"]["pin"] == target
    ]


@dataclass(frozen=True)
class _Outputs:
    """Outputs of one arm in one scenario."""

    rows: pd.DataFrame

    @cached_property
    def has_ids(self) -> bool:
        """Whether every answer has token ids."""
        return bool(self.rows["token_ids"].map(lambda own: own is not None and len(own) > 0).all())

    @cached_property
    def ids(self) -> pd.DataFrame:
        """Token ids as starts down, prompts across; prompts with an output in each start."""
        return self._table(self.rows["token_ids"])

    @cached_property
    def characters(self) -> pd.DataFrame:
        """The same as code points."""
        text = self.rows["reasoning"].fillna("") + self.rows["text"].fillna("")
        return self._table(text.map(lambda t: np.frombuffer(t.encode("utf-32-le"), np.int32)))

    def _table(self, output: pd.Series) -> pd.DataFrame:
        frame = self.rows.assign(output=output).drop_duplicates(["seed", "prompt_id"])
        table = frame.pivot(index="seed", columns="prompt_id", values="output")
        return table.dropna(axis="columns")


def _outputs(measured: Measured, arm: str, scenarios: list[str]) -> dict[str, _Outputs]:
    """Outputs of an arm by scenario; each raw file is read once."""
    rows = measured.requests
    rows = rows[(rows["arm"] == arm) & rows["scenario"].isin(scenarios)]
    rows = rows.join(measured.raw(rows, ["token_ids", "text", "reasoning"]))
    return {place: _Outputs(own) for place, own in rows.groupby("scenario", sort=False)}


def _compared(arm: _Outputs, reference: _Outputs, band: float, controls: dict) -> dict:
    """An arm's starts beside other plain starts, and plain starts beside one another; `controls`
    keeps the latter for arms with the same starts and prompts."""
    by_ids = arm.has_ids and reference.has_ids
    ours, plain = (side.ids if by_ids else side.characters for side in (arm, reference))
    starts = ours.index.intersection(plain.index)
    prompts = ours.columns.intersection(plain.columns)
    if len(starts) < 2:
        return _ungraded("a control needs a further start of plain decoding beside the same seed")
    if len(prompts) < FEWEST_PROMPTS:
        return _ungraded("too few prompts have an output in every start")
    ours, plain = ours.loc[starts, prompts], plain.loc[starts, prompts]
    # Of two starts there is one pair: taking it in both directions would count it twice.
    pairs = [(k, (k + 1) % len(starts)) for k in range(len(starts) if len(starts) > 2 else 1)]
    same, divergence = _agreement(ours, plain, pairs)
    key = (id(reference), by_ids, *starts, *prompts)
    if key not in controls:
        controls[key] = _agreement(plain, plain, pairs)
    control, control_divergence = controls[key]
    found = grade(same, control, band)
    return {
        **spelled("same", found.identical),
        **spelled("control", found.control),
        **spelled("difference", found.difference),
        "divergence": divergence,
        "control_divergence": control_divergence,
        "outputs": same.size,
        "compared_as": "token ids" if by_ids else "characters",
        "verdict": found.verdict.value,
        **_basis(found.difference, _ONE_PAIR),
    }


def _agreement(
    ours: pd.DataFrame, other: pd.DataFrame, pairs: list[tuple[int, int]]
) -> tuple[NDArray[np.float64], float | None]:
    """[pairs, prompts] of outputs that agree, and the median place of the first difference."""
    left, right = ours.to_numpy(), other.to_numpy()
    found = first_divergence(
        [output for a, _ in pairs for output in left[a]],
        [output for _, b in pairs for output in right[b]],
    )
    places = found.index[~found.identical]
    same = found.identical.reshape(len(pairs), -1).astype(float)
    return same, float(np.median(places)) if places.size else None


def _ungraded(reason: str) -> dict:
    return {"verdict": "undecided", "seeds": 0, "basis": "no interval", "reason": reason}


def _behind(measured: Measured, found: Estimate, arms: list[str], scenario: str) -> dict:
    return _basis(found) | measured.behind(arms, [scenario])


def _basis(found: Estimate, if_one: str = _ONE_START) -> dict:
    seeds = int(found.runs)
    return {"seeds": seeds, "basis": str(found.basis), "reason": if_one if seeds == 1 else None}
