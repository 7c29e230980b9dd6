"""Trains several drafters side by side: one forward pass of the target serves them all.

The loss is the cross-entropy of a drafter's distribution against the target's own distribution at
the same place of the text (distillation), weighted less the further ahead a draft reaches.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor, nn

from drafters.drafter import Drafter
from drafters.target import States, Target
from drafters.texts import Batch, Texts


@dataclass(frozen=True)
class Course:
    """How long and how hard: seconds of wall time, chats a batch, anchors a chat.

    The learning rate rises over `warm_up` steps, then falls to zero in proportion to the time left.
    Losses are means over `log_every` steps.
    """

    seconds: float
    chats: int
    anchors: int
    warm_up: int
    log_every: int


def anchors_of(batch: Batch, each: int) -> Tensor:
    """Positions [B, each] in the answers: a random place of each of `each` equal stretches."""
    device = batch.starts.device
    places = torch.arange(each, device=device) + torch.rand(len(batch.starts), each, device=device)
    span = batch.ends - 1 - batch.starts
    return batch.starts[:, None] + (places / each * span[:, None]).long()


def divergence(
    hidden: Tensor, head: Tensor, final: Tensor, embedding: Tensor, weight: Tensor
) -> Tensor:
    """Weighted mean cross-entropy of softmax(hidden @ head.T) against softmax(final @ embedding.T).

    hidden [R, W], head [V, W], final [R, H], embedding [V, H], weight [R].
    """
    wanted = (final @ embedding.T).float().softmax(-1)
    found = (hidden @ head.T).float().log_softmax(-1)
    return -((wanted * found).sum(-1) * weight).sum() / weight.sum()


class Pupil:
    """A drafter in training: its optimiser, and how much a later draft counts."""

    def __init__(self, drafter: Drafter, rate: float, decay: float) -> None:
        self.drafter, self.rate, self.decay = drafter, rate, decay
        self.optimiser = torch.optim.AdamW(
            drafter.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.01
        )
        on_card = next(drafter.parameters()).is_cuda
        self.divergence = torch.compile(divergence, dynamic=False) if on_card else divergence

    def learn(
        self, states: States, batch: Batch, anchors: Tensor, embedding: Tensor, share: float
    ) -> Tensor:
        """One step at a share of the full learning rate; returns the loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * share
        with torch.autocast(anchors.device.type, torch.bfloat16):
            loss = self._loss(states, batch, anchors, embedding)
        loss.backward()
        nn.utils.clip_grad_norm_(self.drafter.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return loss.detach()

    def _loss(self, states: States, batch: Batch, anchors: Tensor, embedding: Tensor) -> Tensor:
        """Draft j (from 0) weighs decay ** j, and nothing where the chat has ended."""
        hidden = self.drafter(states, anchors)
        ahead = torch.arange(self.drafter.drafts, device=anchors.device)
        places = anchors[..., None] + ahead
        weight = (places + 1 < batch.ends[:, None, None]) * self.decay**ahead
        rows = torch.arange(len(anchors), device=anchors.device)[:, None, None]
        final = states.final[rows, places.clamp(max=states.final.shape[1] - 1)]
        head = self.drafter.head
        return self.divergence(
            hidden.flatten(0, 2), head, final.flatten(0, 2), embedding, weight.flatten()
        )


def train(
    target: Target, pupils: dict[str, Pupil], texts: Texts, course: Course, seed: int
) -> Iterator[dict[str, float]]:
    """Trains until the time is over; yields step, seconds and the pupils' mean losses meanwhile.

    Raises `ValueError` if there are not enough chats for one batch.
    """
    if len(texts) < course.chats:
        raise ValueError(f"{len(texts)} chats are fewer than a batch, {course.chats}; sample more")
    reads = sorted({layer for pupil in pupils.values() for layer in pupil.drafter.reads})
    losses: dict[str, list[Tensor]] = {name: [] for name in pupils}
    begin = time.monotonic()
    for step, batch in zip(count(1), _epochs(texts, course, target.device, seed), strict=False):
        states = target.states(batch.tokens, reads)
        anchors = anchors_of(batch, course.anchors)
        gone = min((time.monotonic() - begin) / course.seconds, 1)
        share = min(step / course.warm_up, 1 - gone)
        for name, pupil in pupils.items():
            losses[name].append(pupil.learn(states, batch, anchors, target.embedding, share))
        if step % course.log_every == 0 or gone == 1:
            means = {name: float(torch.stack(values).mean()) for name, values in losses.items()}
            yield {"step": step, "seconds": round(gone * course.seconds, 1)} | means
            losses = {name: [] for name in pupils}
        if gone == 1:
            return


def _epochs(texts: Texts, course: Course, device: str, seed: int) -> Iterator[Batch]:
    """Batches without end, every epoch in another order."""
    order = torch.Generator().manual_seed(seed)
    while True:
        yield from texts.batches(course.chats, device, order)
