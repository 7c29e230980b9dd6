"""What the drafters compute, against the plain reading of what an engine feeds them."""

import json
from dataclasses import replace

import pytest
import torch
from drafters.dflash import DFlash
from drafters.mtp import Mtp
from safetensors import safe_open


def text(length: int, seed: int = 0) -> torch.Tensor:
    """Random tokens [1, length]."""
    return torch.randint(17, 200, (1, length), generator=torch.Generator().manual_seed(seed))


def test_mtp_drafts_as_if_the_layer_were_fed_one_position_after_the_other(target):
    mtp, tokens, anchor = Mtp(target, drafts=3), text(20), 9
    states = target.states(tokens, mtp.reads)
    drafted = mtp(states, torch.tensor([[anchor]]))[0, 0]

    embedded = target.embedding[tokens[0]]
    inputs = [
        mtp.layer.joined(states.residuals[2][0, p], embedded[p + 1], torch.tensor(p))
        for p in range(anchor)
    ]
    for step in range(3):
        x = torch.stack(inputs)[None]
        positions = torch.arange(len(inputs))[None]
        attn, normed = mtp.layer.self_attn, mtp.layer.input_layernorm(x)
        seen = attn.attend(
            attn.queries(normed, positions), attn.keys(normed, positions), attn.values(normed)
        )
        out = mtp.layer.final_layernorm(mtp.layer.feed(x + seen))[0, -1]
        torch.testing.assert_close(drafted[step], out)
        following = embedded[anchor + 1 + step]
        inputs.append(mtp.layer.joined(out, following, torch.tensor(anchor + step)))


def test_dflash_reads_the_states_before_its_anchor_and_no_others(target):
    torch.manual_seed(1)
    dflash = DFlash(target, block=4, depth=2, feed_width=32, reads=[0, 2], mask=16)
    tokens, anchor = text(20), torch.tensor([[9]])
    states = target.states(tokens, dflash.reads)

    def drafted_without(place: int) -> torch.Tensor:
        residuals = {layer: stream.clone() for layer, stream in states.residuals.items()}
        for stream in residuals.values():
            stream[:, place] = 0
        return dflash(replace(states, residuals=residuals), anchor)

    base = dflash(states, anchor)
    torch.testing.assert_close(drafted_without(9), base)
    assert not torch.allclose(drafted_without(8), base)


def test_dflash_fills_a_block_as_if_it_were_the_only_one(target):
    torch.manual_seed(1)
    dflash = DFlash(target, block=4, depth=2, feed_width=32, reads=[0, 2], mask=16)
    states = target.states(text(20), dflash.reads)
    together = dflash(states, torch.tensor([[3, 9, 15]]))[0]
    alone = [dflash(states, torch.tensor([[anchor]]))[0, 0] for anchor in (3, 9, 15)]
    torch.testing.assert_close(together, torch.stack(alone))


def test_saved_weights_come_back(drafter, target, tmp_path):
    states = target.states(text(20), drafter.reads)
    anchors = torch.tensor([[5, 12]])
    before = drafter(states, anchors)
    drafter.save(tmp_path)
    with torch.no_grad():
        for weight in drafter.parameters():
            weight.add_(1)
    drafter.load(tmp_path)
    torch.testing.assert_close(drafter(states, anchors), before, rtol=0.05, atol=0.05)


NAMES = {
    "Mtp": "model.mtp_layers.0.input_proj.weight",
    "DFlash": "layers.1.self_attn.q_norm.weight",
    "Draft": "model.layers.0.self_attn.q_proj.weight",
}
ARCHITECTURES = {"DFlash": "DFlashDraftModel", "Draft": "LlamaForCausalLM"}


def test_weights_are_named_as_engines_read_them_and_nothing_of_the_target_is_among_them(
    drafter, tmp_path
):
    drafter.save(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        names = set(file.keys())
    kind = type(drafter).__name__
    assert NAMES[kind] in names
    assert any("embed_tokens" in name for name in names) == (kind == "Draft")
    if kind in ARCHITECTURES:
        config = json.loads((tmp_path / "config.json").read_text())
        assert config["architectures"] == [ARCHITECTURES[kind]]


@pytest.mark.parametrize("width", [8, 16])
def test_the_loss_is_least_where_the_drafter_says_what_the_target_says(width):
    from drafters.training import divergence

    torch.manual_seed(0)
    final, embedding = torch.randn(5, width), torch.randn(30, width)
    hidden = final.clone().requires_grad_()
    divergence(hidden, embedding, final, embedding, torch.ones(5)).backward()
    torch.testing.assert_close(hidden.grad, torch.zeros_like(final), atol=1e-5, rtol=0)
