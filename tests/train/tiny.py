"""A target that a test can afford: random weights, one token a byte, SmolLM2's special tokens."""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|spare_{n}|>" for n in range(14))]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny_target(folder: Path) -> None:
    """A Llama of three layers with tied embeddings, and its tokenizer."""
    tokens = SPECIAL + sorted(ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({token: index for index, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens(SPECIAL)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=TEMPLATE, clean_up_tokenization_spaces=False
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=12,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.3,  # wide, so that context decides and the likeliest token is clear
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder)


if __name__ == "__main__":
    write_tiny_target(Path(sys.argv[1]))
