"""A decoder layer whose queries come in blocks: a block sees the text to its limit, and itself."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers.models.qwen3.modeling_qwen3 import (
    Qwen3MLP,
    Qwen3RotaryEmbedding,
    apply_rotary_pos_emb,
)


class Norm(nn.RMSNorm):
    """Root-mean-square norm in single precision, whatever comes in."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float())


def norm(width: int, config: PretrainedConfig) -> Norm:
    """A norm with the model's own epsilon."""
    return Norm(width, eps=config.rms_norm_eps)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions; names as in the Qwen checkpoints."""

    def __init__(self, config: PretrainedConfig, bias: bool, head_norms: bool) -> None:
        super().__init__()
        width, self.head = config.hidden_size, config.head_dim
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.groups = heads // kv_heads
        self.q_proj = nn.Linear(width, heads * self.head, bias=bias)
        self.k_proj = nn.Linear(width, kv_heads * self.head, bias=bias)
        self.v_proj = nn.Linear(width, kv_heads * self.head, bias=bias)
        self.o_proj = nn.Linear(heads * self.head, width, bias=False)
        self.q_norm = norm(self.head, config) if head_norms else nn.Identity()
        self.k_norm = norm(self.head, config) if head_norms else nn.Identity()
        self.rotary = Qwen3RotaryEmbedding(config)

    def queries(self, x: Tensor, positions: Tensor) -> Tensor:
        """[B, N, H] -> [B, heads, N, head]."""
        heads = self.q_norm(self.q_proj(x).unflatten(-1, (-1, self.head))).transpose(1, 2)
        return self._turned(heads, positions)

    def keys(self, x: Tensor, positions: Tensor) -> Tensor:
        """[B, N, H] -> [B, heads, N, head]; a key head is repeated for its group of queries."""
        heads = self.k_norm(self.k_proj(x).unflatten(-1, (-1, self.head))).transpose(1, 2)
        return self._turned(heads, positions).repeat_interleave(self.groups, 1)

    def values(self, x: Tensor) -> Tensor:
        """[B, N, H] -> [B, heads, N, head]."""
        heads = self.v_proj(x).unflatten(-1, (-1, self.head)).transpose(1, 2)
        return heads.repeat_interleave(self.groups, 1)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """[B, heads, N, head] -> [B, N, H]; causal without a mask."""
        out = F.scaled_dot_product_attention(query, key, value, mask, is_causal=mask is None)
        return self.o_proj(out.transpose(1, 2).flatten(2))

    def _turned(self, heads: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.rotary(heads, positions)
        return apply_rotary_pos_emb(heads, heads, cos, sin)[0]


class Layer(nn.Module):
    """Pre-norm attention and feed-forward."""

    def __init__(
        self, config: PretrainedConfig, bias: bool = False, head_norms: bool = False
    ) -> None:
        super().__init__()
        self.self_attn = Attention(config, bias, head_norms)
        self.mlp = Qwen3MLP(config)
        self.input_layernorm = norm(config.hidden_size, config)
        self.post_attention_layernorm = norm(config.hidden_size, config)

    def feed(self, x: Tensor) -> Tensor:
        """The residual stream after the feed-forward half."""
        return x + self.mlp(self.post_attention_layernorm(x))


def block_mask(limits: Tensor, length: int, queries: int, keys: int) -> Tensor:
    """Who sees what, for A blocks of `queries` over `length` text keys and then A blocks of `keys`.

    A block sees the text positions below its limit [B, A] and all keys of its own block.
    Returns [B, 1, A * queries, length + A * keys] of bool.
    """
    rows, blocks = limits.shape
    device = limits.device
    text = torch.arange(length, device=device) < limits[..., None]
    own = torch.eye(blocks, dtype=torch.bool, device=device).repeat_interleave(keys, 1)
    seen = torch.cat([text, own.expand(rows, -1, -1)], -1)
    return seen.repeat_interleave(queries, 1)[:, None]
