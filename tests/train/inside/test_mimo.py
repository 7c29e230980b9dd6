"""A target in MiMo's layout is the same function."""

import torch
from drafters.mtp import Mtp
from transformers import LlamaForCausalLM, Qwen2ForCausalLM

from specdock.pins.mimo import derive_mimo


def test_the_derived_checkpoint_gives_the_very_logits_of_the_target(folder, target, tmp_path):
    Mtp(target, drafts=3).save(tmp_path / "mtp")
    layer = tmp_path / "mtp/model.safetensors"
    files = derive_mimo(folder, layer, tmp_path / "mimo")
    tokens = torch.randint(17, 200, (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        original = LlamaForCausalLM.from_pretrained(folder)(tokens).logits
        derived = Qwen2ForCausalLM.from_pretrained(tmp_path / "mimo")(tokens).logits
    assert torch.equal(original, derived)
    again = derive_mimo(folder, layer, tmp_path / "again")
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]
