"""What every drafter is: hidden states at anchors of a text, an output head, a file of weights."""

from abc import ABC, abstractmethod
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PretrainedConfig

from drafters.target import States


class Drafter(nn.Module, ABC):
    """Drafts the tokens after an anchor, the position of the newest token that is known.

    `drafts` is how many, `reads` the target's layers whose residual streams it needs.
    """

    drafts: int
    reads: list[int]
    config: PretrainedConfig | None = None  # written beside the weights
    prefix = ""  # of its weights' names in a checkpoint

    @property
    @abstractmethod
    def body(self) -> nn.Module:
        """What is trained and saved; the rest is the target's."""

    @property
    @abstractmethod
    def head(self) -> Tensor:
        """Output head [V, W]."""

    @abstractmethod
    def forward(self, states: States, anchors: Tensor) -> Tensor:
        """Hidden states [B, A, drafts, W] for anchors [B, A]; their product with the head predicts.

        A later draft is computed as if the text confirmed the earlier ones. That is no help: where
        the text does not, verification has ended before it.
        """

    def save(self, folder: Path) -> None:
        """Weights in bfloat16 (and config), under the names that engines read."""
        folder.mkdir(parents=True, exist_ok=True)
        weights = {
            self.prefix + name: weight.to(torch.bfloat16).contiguous()
            for name, weight in self.body.state_dict().items()
        }
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        if self.config is not None:
            self.config.save_pretrained(folder)

    def load(self, folder: Path) -> None:
        """Takes the weights that `save` wrote."""
        weights = load_file(folder / "model.safetensors")
        self.body.load_state_dict(
            {name.removeprefix(self.prefix): weight for name, weight in weights.items()}
        )
