"""Did speculation change the answers: shares correct, and outputs beside those of a control.

The control is plain decoding against its own other starts: greedy outputs differ between any two
runs whose batches were put together differently, so an arm is asked to agree with plain decoding as
often as plain decoding agrees with itself.
"""

from collections.abc import Iterable, Iterator
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
from specdock.claims.losslessness import Output, first_divergence, grade
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
        found = share(answers.of(answers.starts, answers.prompts))
        yield {
            "scenario": scenario,
            "arm": arm,
            **spelled("share", found),
            "prompts": int(answers.prompts.sum()),
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
        starts, prompts = ours.starts & theirs.starts, ours.prompts & theirs.prompts
        if not starts.any() or prompts.sum() < FEWEST_PROMPTS:
            continue
        left, right = (side.of(starts, prompts) for side in (ours, theirs))
        found = share_difference(left, right)
        yield {
            "scenario": scenario,
            "arm": arm,
            "against": against,
            **spelled("difference", found),
            "gained": int((left > right).sum()),
            "lost": int((left < right).sum()),
            "prompts": int(prompts.sum()),
            "band": band,
            "verdict": str(verdicts(found, band, higher_is_better=True)),
            **_behind(measured, found, [arm, against], scenario),
        }


def losslessness(measured: Measured) -> Iterator[dict]:
    """Rows of `LOSSLESSNESS`: speculating arms with the reference's target, greedy scenarios; none
    of an arm whose acceptance is imposed, which writes noise."""
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


@dataclass(frozen=True)
class _Grid:
    """One arm in one scenario, [seeds, prompts] of the study: a value of each answer, and whether
    there is any."""

    values: NDArray
    there: NDArray[np.bool_]

    @cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Seeds with an answer."""
        return self.there.any(axis=1)

    @cached_property
    def prompts(self) -> NDArray[np.bool_]:
        """Prompts that each of these starts answered."""
        return self.there[self.starts].all(axis=0) & self.starts.any()

    def of(self, starts: NDArray[np.bool_], prompts: NDArray[np.bool_]) -> NDArray:
        """The values of some starts and prompts."""
        return self.values[np.ix_(starts, prompts)]


def _answers(measured: Measured) -> dict[tuple[str, str], _Grid]:
    """Grades by scenario and arm; a prompt that a start answered several times has their mean."""
    rows = measured.requests.dropna(subset=["correct"])
    found = {}
    for scenario, own in rows.groupby("scenario", sort=False):
        prompts, names = pd.factorize(own["prompt_id"])
        arms, seeds = _places(measured.arms, own["arm"]), _places(measured.seeds, own["seed"])
        shape = (len(measured.arms), len(measured.seeds), len(names))
        right, answered = np.zeros(shape), np.zeros(shape)
        np.add.at(right, (arms, seeds, prompts), own["correct"].to_numpy(float))
        np.add.at(answered, (arms, seeds, prompts), 1)
        values = np.divide(right, answered, out=np.full(shape, np.nan), where=answered > 0)
        for place, arm in enumerate(measured.arms):
            grid = _Grid(values[place], answered[place] > 0)
            if grid.prompts.sum() >= FEWEST_PROMPTS:
                found[scenario, arm] = grid
    return found


def _places(names: list, column: pd.Series) -> NDArray[np.intp]:
    return pd.Index(names).get_indexer(column)


def _with_target_of(measured: Measured, plain: str) -> list[str]:
    arms = measured.plan["arms"]
    target = arms[plain]["target"]["pin"]
    return [
        arm
        for arm in measured.arms
        if measured.speculates(arm)
        and arms[arm]["target"]["pin"] == target
        and not measured.imposes(arm)
    ]


@dataclass(frozen=True)
class _Outputs:
    """Outputs of one arm in one scenario, one a row; `place` [seeds, prompts] has each one's row,
    -1 where there is none."""

    rows: pd.DataFrame
    place: NDArray[np.intp]

    @cached_property
    def has_ids(self) -> bool:
        """Whether every answer has token ids."""
        return all(own is not None and len(own) > 0 for own in self.rows["token_ids"])

    @cached_property
    def ids(self) -> _Grid:
        """Token ids."""
        return self._grid(self.rows["token_ids"])

    @cached_property
    def characters(self) -> _Grid:
        """The reasoning and the text."""
        answers = zip(self.rows["reasoning"], self.rows["text"], strict=True)
        return self._grid((reasoning or "") + (text or "") for reasoning, text in answers)

    def _grid(self, outputs: Iterable[Output]) -> _Grid:
        table = np.empty(len(self.rows), dtype=object)
        table[:] = list(outputs)
        return _Grid(table[self.place], self.place >= 0)


def _outputs(measured: Measured, arm: str, scenarios: list[str]) -> dict[str, _Outputs]:
    """Outputs of an arm by scenario; each raw file is read once."""
    rows = measured.requests
    rows = rows[(rows["arm"] == arm) & rows["scenario"].isin(scenarios)]
    rows = rows.join(measured.raw(rows, ["token_ids", "text", "reasoning"]))
    found = {}
    for scenario, own in rows.groupby("scenario", sort=False):
        prompts = measured.prompts[scenario]
        place = np.full((len(measured.seeds), len(prompts)), -1)
        # Backwards, so that of several answers to a prompt the first stands.
        seeds, columns = _places(measured.seeds, own["seed"]), prompts.get_indexer(own["prompt_id"])
        place[seeds[::-1], columns[::-1]] = np.arange(len(own))[::-1]
        found[scenario] = _Outputs(own, place)
    return found


def _compared(arm: _Outputs, reference: _Outputs, band: float, controls: dict) -> dict:
    """An arm's starts beside other plain starts, and plain starts beside one another; `controls`
    keeps the latter for arms with the same starts and prompts."""
    by_ids = arm.has_ids and reference.has_ids
    ours, plain = (side.ids if by_ids else side.characters for side in (arm, reference))
    starts, prompts = ours.starts & plain.starts, ours.prompts & plain.prompts
    count = int(starts.sum())
    if count < 2:
        return _ungraded("a control needs a further start of plain decoding beside the same seed")
    if prompts.sum() < FEWEST_PROMPTS:
        return _ungraded("too few prompts have an output in every start")
    left, right = ours.of(starts, prompts), plain.of(starts, prompts)
    # Of two starts there is one pair: taking it in both directions would count it twice.
    pairs = [(k, (k + 1) % count) for k in range(count if count > 2 else 1)]
    same, divergence = _agreement(left, right, pairs)
    key = (id(reference), by_ids, starts.tobytes(), prompts.tobytes())
    if key not in controls:
        controls[key] = _agreement(right, right, pairs)
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
    left: NDArray, right: NDArray, pairs: list[tuple[int, int]]
) -> tuple[NDArray[np.float64], float | None]:
    """[pairs, prompts] of outputs that agree, and the median place of the first difference."""
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
