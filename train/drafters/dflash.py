"""A block-diffusion drafter (DFlash): one pass fills a whole block of masked positions.

Its queries are the newest token and masks after it; keys and values of the text before come from
residual streams of several target layers, projected once. Inside a block everyone sees everyone.
Method: arXiv:2602.06036; layout: what vLLM loads as DFlashDraftModel.
"""

import torch
from torch import Tensor, nn
from transformers import Qwen3Config

from drafters.blocks import Layer, block_mask, norm
from drafters.drafter import Drafter
from drafters.target import States, Target


class DFlash(Drafter):
    """A few layers of Qwen3's form; embedding and output head are the target's."""

    def __init__(
        self, target: Target, block: int, depth: int, feed_width: int, reads: list[int], mask: int
    ) -> None:
        super().__init__()
        base = target.model.config
        self.drafts, self.reads, self.mask = block - 1, reads, mask
        self.embedding = [target.embedding]  # in a list: not a parameter of this module
        self.config = Qwen3Config(
            architectures=["DFlashDraftModel"],
            vocab_size=base.vocab_size,
            hidden_size=base.hidden_size,
            intermediate_size=feed_width,
            num_hidden_layers=depth,
            num_attention_heads=base.num_attention_heads,
            num_key_value_heads=base.num_key_value_heads,
            head_dim=base.head_dim,
            max_position_embeddings=base.max_position_embeddings,
            rms_norm_eps=base.rms_norm_eps,
            rope_parameters=base.rope_parameters,
            bos_token_id=base.bos_token_id,
            eos_token_id=base.eos_token_id,
            pad_token_id=base.pad_token_id,
            tie_word_embeddings=False,
            dtype="bfloat16",
            block_size=block,
            num_target_layers=base.num_hidden_layers,
            dflash_config={"mask_token_id": mask, "target_layer_ids": reads},
        )
        width = base.hidden_size
        self.fc = nn.Linear(len(reads) * width, width, bias=False)
        self.hidden_norm = norm(width, self.config)
        self.layers = nn.ModuleList(Layer(self.config, head_norms=True) for _ in range(depth))
        self.norm = norm(width, self.config)
        for weight in (weight for weight in self.parameters() if weight.dim() == 2):
            nn.init.normal_(weight, std=0.02)
        self.norm.load_state_dict(target.model.model.norm.state_dict())

    @property
    def body(self) -> nn.Module:
        return self

    @property
    def head(self) -> Tensor:
        return self.embedding[0]

    def forward(self, states: States, anchors: Tensor) -> Tensor:
        length, block = states.tokens.shape[1], self.drafts + 1
        text = torch.arange(length, device=anchors.device)[None]
        read = torch.cat([states.residuals[layer] for layer in self.reads], -1)
        context = self.hidden_norm(self.fc(read))
        positions = (anchors[..., None] + torch.arange(block, device=anchors.device)).flatten(1)
        tokens = torch.full((*anchors.shape, block), self.mask, device=anchors.device)
        tokens[..., 0] = states.tokens.gather(1, anchors)
        x = self.embedding[0][tokens.flatten(1)].float()
        mask = block_mask(anchors, length, block, block)
        for layer in self.layers:
            attn = layer.self_attn
            normed = layer.input_layernorm(x)
            x = x + attn.attend(
                attn.queries(normed, positions),
                torch.cat([attn.keys(context, text), attn.keys(normed, positions)], 2),
                torch.cat([attn.values(context), attn.values(normed)], 2),
                mask,
            )
            x = layer.feed(x)
        return self.norm(x).unflatten(1, (-1, block))[:, :, 1:]
