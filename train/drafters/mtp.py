"""One multi-token-prediction layer in MiMo's form, used on itself for every further draft.

At position p it reads the target's residual stream at p and the embedding of token p+1, and
predicts token p+2. For the next draft it stands at p+1 and reads its own output in place of the
residual stream; keys and values of the text stay those made from the target. So vLLM feeds it
(model_executor/models/mimo_mtp.py and v1/spec_decode of 0.27.1 and 0.32.0), and so it is trained.
"""

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig

from drafters.blocks import Layer, block_mask, norm
from drafters.drafter import Drafter
from drafters.target import States, Target


class MtpLayer(Layer):
    """A Qwen2 layer behind a projection of two normed inputs; names as in MiMo's checkpoint."""

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__(config, bias=True)
        width = config.hidden_size
        self.token_layernorm = norm(width, config)
        self.hidden_layernorm = norm(width, config)
        self.input_proj = nn.Linear(2 * width, width, bias=False)
        self.final_layernorm = norm(width, config)

    def joined(self, hidden: Tensor, embedded: Tensor, positions: Tensor) -> Tensor:
        """The layer's input; position 0 has no token before it and gets no embedding."""
        embedded = torch.where(positions[..., None] == 0, 0, embedded)
        return self.input_proj(
            torch.cat([self.hidden_layernorm(hidden), self.token_layernorm(embedded)], -1)
        )


class Mtp(Drafter):
    """The layer; its embedding and output head are the target's."""

    prefix = "model.mtp_layers.0."

    def __init__(self, target: Target, drafts: int) -> None:
        super().__init__()
        config = target.model.config
        self.drafts = drafts
        self.reads = [config.num_hidden_layers - 1]
        self.embedding = [target.embedding]  # in a list: not a parameter of this module
        self.layer = MtpLayer(config)
        # The start is the target's last layer and last norm.
        last = target.model.model.layers[-1].state_dict()
        final = {f"final_layernorm.{k}": v for k, v in target.model.model.norm.state_dict().items()}
        self.layer.load_state_dict(last | final, strict=False)
        for projection in ("q_proj", "k_proj", "v_proj"):
            nn.init.zeros_(getattr(self.layer.self_attn, projection).bias)
        nn.init.normal_(self.layer.input_proj.weight, std=0.02)

    @property
    def body(self) -> nn.Module:
        return self.layer

    @property
    def head(self) -> Tensor:
        return self.embedding[0]

    def forward(self, states: States, anchors: Tensor) -> Tensor:
        layer, attn, embedding = self.layer, self.layer.self_attn, self.embedding[0]
        length = states.tokens.shape[1]
        text = torch.arange(length - 1, device=anchors.device)[None]
        before = states.residuals[self.reads[0]][:, :-1]
        x = layer.joined(before, embedding[states.tokens[:, 1:]], text)
        normed = layer.input_layernorm(x)
        keys, values = attn.keys(normed, text), attn.values(normed)
        x = x + attn.attend(attn.queries(normed, text), keys, values)
        out = layer.final_layernorm(layer.feed(x))

        rows = torch.arange(len(anchors), device=anchors.device)[:, None]
        hidden = out[rows, anchors - 1]
        drafted, chain_keys, chain_values = [hidden], [], []
        for step in range(1, self.drafts):
            positions = anchors - 1 + step
            known = states.tokens[rows, (anchors + step).clamp(max=length - 1)]
            x = layer.joined(hidden, embedding[known], positions)
            normed = layer.input_layernorm(x)
            chain_keys.append(attn.keys(normed, positions))
            chain_values.append(attn.values(normed))
            # [B, heads, A, step, head] -> [B, heads, A * step, head]: a block is an anchor's chain
            own_keys, own_values = (
                torch.stack(chain, 3).flatten(2, 3) for chain in (chain_keys, chain_values)
            )
            x = x + attn.attend(
                attn.queries(normed, positions),
                torch.cat([keys, own_keys], 2),
                torch.cat([values, own_values], 2),
                block_mask(anchors, length - 1, 1, step),
            )
            hidden = layer.final_layernorm(layer.feed(x))
            drafted.append(hidden)
        return torch.stack(drafted, 2)
