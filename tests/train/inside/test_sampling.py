"""Chats of the target: many at once as if each were alone, stored and read back."""

import torch
from drafters.sampling import Sampler
from drafters.target import Target
from drafters.texts import Texts


def test_prompts_of_unequal_length_are_continued_as_if_each_were_alone(folder):
    target = Target(folder, "cpu", attention="grouped")
    target.model.float()
    prompts = [target.question(words) for words in ("Hi", "What is the sea?", "Count to ten.")]
    sampler = Sampler(target.model, rows=4, width=80, new_tokens=12, stop=target.stop)
    together = sampler.batch(prompts, [0.0, 0.0, 0.0])
    target.model.set_attn_implementation("eager")
    for prompt, continued in zip(prompts, together, strict=True):
        alone = target.model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=12, pad_token_id=2
        )
        assert continued == alone[0, len(prompt) :].tolist()


def test_a_temperature_draws_and_zero_does_not(folder):
    target = Target(folder, "cpu", attention="grouped")
    sampler = Sampler(target.model, rows=2, width=64, new_tokens=8, stop=target.stop)
    prompt = target.question("Hi")
    torch.manual_seed(0)
    runs = [sampler.batch([prompt, prompt], [0.0, 50.0]) for _ in range(2)]
    assert runs[0][0] == runs[1][0]
    assert runs[0][1] != runs[1][1]


def test_an_open_prompt_is_what_a_question_begins_with(target):
    opened, whole = target.opening("What is"), target.question("What is the sea?")
    assert whole[: len(opened)] == opened


CHATS = Texts.of([[1, 2, 3], [4], [5, 6]], [[7, 8], [9, 10, 11, 12], [13]])


def test_chats_are_stored_and_batched_whole(tmp_path):
    CHATS.save(tmp_path / "chats.safetensors")
    batches = list(Texts.load(tmp_path / "chats.safetensors").batches(2, "cpu"))
    chats = {
        (tuple(row[:end].tolist()), int(start))
        for batch in batches
        for row, start, end in zip(batch.tokens, batch.starts, batch.ends, strict=True)
    }
    assert chats == {((1, 2, 3, 7, 8), 3), ((4, 9, 10, 11, 12), 1), ((5, 6, 13), 2)}


def test_a_cut_shortens_answers_and_no_prompt():
    (batch,) = CHATS.cut(1).batches(3, "cpu")
    rows = [row[:end].tolist() for row, end in zip(batch.tokens, batch.ends, strict=True)]
    assert sorted(rows) == [[1, 2, 3, 7], [4, 9], [5, 6, 13]]
