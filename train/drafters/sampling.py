"""Many continuations of the target at once: one static cache, one step, replayed as a CUDA graph.

All rows of a batch are left-padded to one width, so every row writes the same column of the cache.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel, StaticCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

LOOK_EVERY = 32  # steps between two looks at whether all rows have stopped


def grouped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float,
    **_unused: object,
) -> tuple[Tensor, None]:
    """Grouped-query attention without copying keys: the heads of a group become query positions."""
    rows, heads, length, width = query.shape
    groups = heads // key.shape[1]
    out = F.scaled_dot_product_attention(
        query.reshape(rows, key.shape[1], groups * length, width),
        key,
        value,
        attn_mask=attention_mask.repeat(1, 1, groups, 1),
        scale=scaling,
    )
    return out.reshape(rows, heads, length, width).transpose(1, 2), None


ALL_ATTENTION_FUNCTIONS.register("grouped", grouped_attention)


class Sampler:
    """Continues up to `rows` texts of at most `width` tokens by up to `new_tokens` tokens."""

    def __init__(
        self, model: PreTrainedModel, rows: int, width: int, new_tokens: int, stop: int
    ) -> None:
        self.model, self.stop = model, stop
        self.rows, self.width, self.new_tokens = rows, width, new_tokens
        device = model.device
        self.cache = StaticCache(config=model.config, max_cache_len=width + new_tokens)
        self.columns = torch.arange(width + new_tokens, device=device)
        self.column = torch.zeros((), dtype=torch.long, device=device)
        self.pad = torch.zeros(rows, dtype=torch.long, device=device)
        self.temperature = torch.zeros(rows, device=device)
        self.token = torch.zeros(rows, 1, dtype=torch.long, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _forward(self, tokens: Tensor, at: Tensor) -> None:
        """Feeds tokens [rows, n] that stand at columns `at` [n]; draws each row's next token."""
        seen = (self.columns >= self.pad[:, None, None]) & (self.columns <= at[:, None])
        seen |= self.columns == at[:, None]  # a pad sees itself: a row that sees nothing is NaN
        hidden = self.model.model(
            tokens,
            attention_mask=seen[:, None],
            position_ids=(at - self.pad[:, None]).clamp(min=0),
            past_key_values=self.cache,
            use_cache=True,
        ).last_hidden_state[:, -1]
        logits = self.model.lm_head(hidden).float()
        # Gumbel-max: adding T times Gumbel noise and taking the largest samples at temperature T.
        noise = torch.empty_like(logits).exponential_().log().neg()
        self.token.copy_((logits + self.temperature[:, None] * noise).argmax(-1, keepdim=True))

    def _prefill(self, tokens: Tensor) -> None:
        self.cache.reset()
        self.column.fill_(self.width)
        self._forward(tokens, self.columns[: self.width])

    def _step(self) -> None:
        self._forward(self.token, self.column[None])
        self.column += 1

    def _capture(self) -> None:
        self._step()  # allocations happen outside the graph
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._step()

    @torch.inference_mode()
    def batch(self, prompts: list[list[int]], temperatures: list[float]) -> list[list[int]]:
        """Continuations of at most `rows` prompts, up to and with the stop token if it came."""
        missing = self.rows - len(prompts)
        prompts, temperatures = prompts + prompts[:1] * missing, temperatures + [0.0] * missing
        pads = [self.width - len(prompt) for prompt in prompts]
        padded = [[self.stop] * pad + prompt for pad, prompt in zip(pads, prompts, strict=True)]
        tokens = torch.tensor(padded, device=self.model.device)
        self.pad.copy_(torch.tensor(pads))
        self.temperature.copy_(torch.tensor(temperatures))
        self._prefill(tokens)
        if tokens.is_cuda and self.graph is None:
            self._capture()
            self._prefill(tokens)
        drawn = [self.token.clone()]
        stopped = self.token == self.stop
        for step in range(1, self.new_tokens):
            self.graph.replay() if self.graph else self._step()
            drawn.append(self.token.clone())
            stopped |= self.token == self.stop
            if step % LOOK_EVERY == 0 and stopped.all():
                break
        texts = torch.cat(drawn, 1).tolist()[: self.rows - missing]
        return [text[: text.index(self.stop) + 1] if self.stop in text else text for text in texts]

    def all(self, prompts: list[list[int]], temperatures: list[float]) -> Iterator[list[list[int]]]:
        """Continuations of any number of prompts, a batch at a time, in order."""
        for start in range(0, len(prompts), self.rows):
            part = slice(start, start + self.rows)
            yield self.batch(prompts[part], temperatures[part])
