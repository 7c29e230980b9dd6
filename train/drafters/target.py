"""The frozen target: its weights, its chat form, and the inner states that drafters read."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclass(frozen=True)
class States:
    """What one forward pass of the target leaves behind, for B texts of L tokens and width H.

    tokens [B, L]; residuals: after layer i, from 0 [B, L, H]; final: after the last norm [B, L, H].
    """

    tokens: Tensor
    residuals: dict[int, Tensor]
    final: Tensor


class Target:
    """A causal language model that is read, never trained."""

    def __init__(self, folder: Path, device: str, attention: str = "sdpa") -> None:
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.bfloat16, attn_implementation=attention
        )
        self.model.to(device).eval().requires_grad_(False)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.device = device

    @property
    def embedding(self) -> Tensor:
        """Token embeddings, which are also the output head (tied) [V, H]."""
        return self.model.model.embed_tokens.weight

    @property
    def stop(self) -> int:
        """The token that ends a turn."""
        return self.tokenizer.convert_tokens_to_ids("<|im_end|>")

    def opening(self, user: str) -> list[int]:
        """Tokens of a chat up to the given words of the user, whose turn stays open."""
        mark = "\x00"
        chat = self._chat(mark, answer=False)
        return self.tokenizer.encode(chat.partition(mark)[0] + user)

    def question(self, user: str) -> list[int]:
        """Tokens of a chat up to where the assistant's answer begins."""
        return self.tokenizer.encode(self._chat(user, answer=True))

    def _chat(self, user: str, answer: bool) -> str:
        return self.tokenizer.apply_chat_template(
            [{"role": "user", "content": user}], tokenize=False, add_generation_prompt=answer
        )

    @torch.no_grad()
    def states(self, tokens: Tensor, layers: list[int]) -> States:
        """One forward pass over right-padded texts [B, L], keeping the streams after `layers`."""
        residuals: dict[int, Tensor] = {}
        hooks = [
            self.model.model.layers[layer].register_forward_hook(
                lambda _module, _inputs, output, layer=layer: residuals.update({layer: output})
            )
            for layer in layers
        ]
        try:
            final = self.model.model(tokens, use_cache=False).last_hidden_state
        finally:
            for hook in hooks:
                hook.remove()
        return States(tokens, residuals, final)
