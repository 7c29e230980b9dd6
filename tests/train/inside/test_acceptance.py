"""Walking along a text gives the steps that serving would have taken."""

import random

import pytest
import torch
from drafters.acceptance import steps_of, summary, walks
from drafters.drafter import Drafter
from drafters.target import Target
from drafters.texts import Texts


def drafts_after(target: Target, drafter: Drafter, known: list[int]) -> list[int]:
    """What the drafter proposes after `known`, each draft made with its own earlier ones."""
    drafts: list[int] = []
    anchor = torch.tensor([[len(known) - 1]])
    while len(drafts) < drafter.drafts:
        tokens = torch.tensor([known + drafts + [17]])
        with torch.no_grad():
            hidden = drafter(target.states(tokens, drafter.reads), anchor)[0, 0, len(drafts)]
            drafts.append(int((hidden @ drafter.head.T).argmax()))
    return drafts


def test_the_walk_takes_the_steps_that_the_text_was_made_of(target, drafter):
    draw = random.Random(3)
    prompt = [draw.randrange(17, 200) for _ in range(12)]
    answer, steps = [draw.randrange(17, 200)], []
    for _ in range(8):
        drafts = drafts_after(target, drafter, prompt + answer)
        accepted = draw.randrange(drafter.drafts + 1)
        other = next(
            token for token in range(17, 200) if token not in drafts[accepted : accepted + 1]
        )
        answer += [*drafts[:accepted], other]
        steps.append(accepted)
    assert len(set(steps)) > 2
    (found,) = walks(target, drafter, Texts.of([prompt], [answer]))
    assert found == steps


@pytest.mark.parametrize(
    ("accepted", "steps"),
    [([], []), ([0, 0, 0], [0, 0, 0]), ([2, 9, 9, 1, 9, 0], [2, 1, 0]), ([7], [7])],
)
def test_tokens_inside_an_accepted_draft_begin_no_step(accepted, steps):
    assert steps_of(accepted) == steps


def test_the_acceptance_length_counts_the_targets_own_token():
    assert summary([[2, 1], [0]], drafts=2) == {
        "texts": 2,
        "steps": 3,
        "acceptance_length": 2.0,
        "accepted_at_position": [0.667, 0.333],
    }
