"""How many tokens one verification step of the target yields, measured on texts it has written.

A draft is a drafter's most likely token. Lossless verification keeps the drafts up to the first
that differs from what the target emits, and adds the target's own token (Leviathan et al. 2023,
arXiv:2211.17192: for a draft that is certain of itself, accepting with the target's probability of
it is to draw the target's token and compare). The text is the target's own, so walking along it
repeats what serving would do.
"""

import torch
from torch import Tensor

from drafters.drafter import Drafter
from drafters.target import Target
from drafters.texts import Texts

ROWS = 16


def steps_of(accepted: list[int]) -> list[int]:
    """Accepted drafts of the verification steps that are really taken.

    accepted[i] is how many drafts would be accepted if a step began after token i of the answer.
    """
    steps, place = [], 0
    while place < len(accepted):
        steps.append(accepted[place])
        place += accepted[place] + 1
    return steps


@torch.no_grad()
def walks(target: Target, drafter: Drafter, texts: Texts) -> list[list[int]]:
    """For every text, shortest first: the accepted drafts of its steps, after its first token."""
    found = []
    for batch in texts.batches(ROWS, target.device):
        states = target.states(batch.tokens, drafter.reads)
        span = int((batch.ends - batch.starts).max()) - 1
        anchors = batch.starts[:, None] + torch.arange(span, device=batch.starts.device)
        anchors = anchors.clamp(max=batch.tokens.shape[1] - 2)
        half = states.final.dtype == torch.bfloat16  # a drafter is as precise as its target
        with torch.autocast(states.final.device.type, torch.bfloat16, enabled=half):
            guesses = _most_likely(drafter(states, anchors), drafter.head)
        places = anchors[..., None] + torch.arange(1, drafter.drafts + 1, device=anchors.device)
        inside = places < batch.ends[:, None, None]
        truth = batch.tokens.gather(1, places.clamp(max=batch.tokens.shape[1] - 1).flatten(1))
        right = (guesses == truth.view_as(guesses)) & inside
        runs = right.long().cumprod(-1).sum(-1)
        for run, start, end in zip(runs, batch.starts, batch.ends, strict=True):
            found.append(steps_of(run[: int(end - start) - 1].tolist()))
    return found


def _most_likely(hidden: Tensor, head: Tensor) -> Tensor:
    """Tokens [B, A, drafts]; a text at a time, since logits are as wide as the vocabulary."""
    return torch.stack([(text @ head.T.to(text.dtype)).argmax(-1) for text in hidden])


def summary(steps_of_texts: list[list[int]], drafts: int) -> dict[str, object]:
    """Acceptance length (tokens a step, the target's own counted) and acceptance by position."""
    steps = [step for steps in steps_of_texts for step in steps]
    return {
        "texts": len(steps_of_texts),
        "steps": len(steps),
        "acceptance_length": round(1 + sum(steps) / len(steps), 3),
        "accepted_at_position": [
            round(sum(step >= position for step in steps) / len(steps), 3)
            for position in range(1, drafts + 1)
        ],
    }
