"""The target's own answers as training data: stored flat, read in batches of similar length."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

ALIGN = 32  # batch lengths are multiples of this, so that few shapes occur


@dataclass(frozen=True)
class Batch:
    """B right-padded chats: tokens [B, L]; where the answer starts [B]; where the chat ends [B]."""

    tokens: Tensor
    starts: Tensor
    ends: Tensor


@dataclass(frozen=True)
class Texts:
    """N chats: all tokens in a row; how many of them are each chat's prompt [N] and answer [N]."""

    tokens: Tensor
    prompt: Tensor
    answer: Tensor

    @classmethod
    def of(cls, prompts: list[list[int]], answers: list[list[int]]) -> Self:
        """From lists of tokens."""
        chats = zip(prompts, answers, strict=True)
        return cls(
            torch.tensor([token for chat in chats for part in chat for token in part]),
            torch.tensor([len(prompt) for prompt in prompts]),
            torch.tensor([len(answer) for answer in answers]),
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote."""
        columns = load_file(path)
        return cls(**columns | {"tokens": columns["tokens"].long()})

    def save(self, path: Path) -> None:
        """Tokens are written in 16 bits: the vocabulary has fewer than 65,536 entries."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(vars(self) | {"tokens": self.tokens.to(torch.uint16)}, path)

    def __len__(self) -> int:
        return len(self.prompt)

    def cut(self, most: int | None) -> Self:
        """The same chats with at most `most` tokens of each answer."""
        if most is None:
            return self
        lengths, answer = self.prompt + self.answer, self.answer.clamp(max=most)
        begins = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        place = torch.arange(len(self.tokens)) - begins
        kept = place < (self.prompt + answer).repeat_interleave(lengths)
        return Texts(self.tokens[kept], self.prompt, answer)

    def batches(
        self, size: int, device: str, order: torch.Generator | None = None
    ) -> Iterator[Batch]:
        """All texts once, in batches of similar length.

        In order of length; or, if `order` is given, shuffled and without an incomplete last batch.
        """
        lengths = self.prompt + self.answer
        noise = torch.rand(len(self), generator=order) * ALIGN if order else 0
        groups = (lengths + noise).argsort().split(size)
        if order:
            whole = [group for group in groups if len(group) == size]
            groups = [whole[place] for place in torch.randperm(len(whole), generator=order)]
        tokens, starts, ends = (column.to(device) for column in (self.tokens, self.prompt, lengths))
        begins = ends.cumsum(0) - ends
        for group in groups:
            longest = int(lengths[group].max())
            chats = group.to(device)
            columns = torch.arange(longest + -longest % ALIGN, device=device)
            places = (begins[chats, None] + columns).clamp(max=len(tokens) - 1)
            inside = columns < ends[chats, None]
            yield Batch(torch.where(inside, tokens[places], 0), starts[chats], ends[chats])
