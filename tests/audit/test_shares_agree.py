"""The verification's shares are those of the claims, also where all answers are alike."""

import sys
from pathlib import Path

import numpy as np
import pytest

from specdock.claims import accuracy

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from verification import statistics


def tables(starts: int, prompts: int):
    rng = np.random.default_rng([starts, prompts])
    for rate in (0.0, 0.1, 0.5, 1.0):
        yield (rng.random((starts, prompts)) < rate).astype(float)


@pytest.mark.parametrize("starts", [1, 2, 3, 5])
@pytest.mark.parametrize("prompts", [2, 3, 8, 40])
def test_both_give_one_interval(starts, prompts):
    for ours in tables(starts, prompts):
        for theirs in tables(starts, prompts):
            pairs = [
                (accuracy.share(ours), statistics.share(ours.tolist())),
                (
                    accuracy.share_difference(ours, theirs),
                    statistics.share_difference((ours - theirs).tolist()),
                ),
            ]
            for claimed, verified in pairs:
                for end in ("value", "low", "high"):
                    assert verified[end] == pytest.approx(
                        float(getattr(claimed, end)), rel=1e-6, abs=1e-6
                    )
