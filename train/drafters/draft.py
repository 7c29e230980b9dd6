"""A small language model of Llama's form and the target's vocabulary, drafting token by token."""

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaModel

from drafters.drafter import Drafter
from drafters.target import States, Target


class Draft(Drafter):
    """The model, with its embedding as output head.

    The embedding starts as the target's, projected on its `width` directions of most energy.
    """

    prefix = "model."

    def __init__(
        self, target: Target, drafts: int, width: int, depth: int, feed_width: int, heads: int
    ) -> None:
        super().__init__()
        base = target.model.config
        self.drafts, self.reads = drafts, []
        self.config = LlamaConfig(
            architectures=["LlamaForCausalLM"],
            vocab_size=base.vocab_size,
            hidden_size=width,
            intermediate_size=feed_width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            max_position_embeddings=base.max_position_embeddings,
            rms_norm_eps=base.rms_norm_eps,
            rope_parameters=base.rope_parameters,
            bos_token_id=base.bos_token_id,
            eos_token_id=base.eos_token_id,
            pad_token_id=base.pad_token_id,
            tie_word_embeddings=True,
            dtype="bfloat16",
        )
        self.model = LlamaModel(self.config)
        embedding = target.embedding.float()
        directions = torch.linalg.eigh(embedding.T @ embedding).eigenvectors[:, -width:]
        with torch.no_grad():
            self.model.embed_tokens.weight.copy_(embedding @ directions)

    @property
    def body(self) -> nn.Module:
        return self.model

    @property
    def head(self) -> Tensor:
        return self.model.embed_tokens.weight

    def forward(self, states: States, anchors: Tensor) -> Tensor:
        length = states.tokens.shape[1]
        hidden = self.model(states.tokens, use_cache=False).last_hidden_state
        steps = anchors[..., None] + torch.arange(self.drafts, device=anchors.device)
        rows = torch.arange(len(anchors), device=anchors.device)[:, None, None]
        return hidden[rows, steps.clamp(max=length - 1)]
