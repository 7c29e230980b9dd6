"""From patterns to chats: the target completes open prompts, then answers all of them."""

import time
from dataclasses import dataclass

from drafters.overlap import Index
from drafters.prompts import Prompt
from drafters.sampling import Sampler
from drafters.target import Target


@dataclass(frozen=True)
class Sampling:
    """How many prompts of a kind, how they are continued, and for how many seconds at most."""

    prompts: int
    seconds: float
    rows: int
    prompt_tokens: int
    opening_tokens: int
    opening_temperature: float
    answer_tokens: int
    answer_temperatures: list[float]


@dataclass(frozen=True)
class Chat:
    """A prompt, its tokens in the chat form, and the target's answer."""

    prompt: Prompt
    question: list[int]
    answer: list[int]


def completed(target: Target, prompts: list[Prompt], how: Sampling) -> list[Prompt]:
    """Open prompts finished by the target; those that it does not finish in time are dropped."""
    open_ones = [prompt for prompt in prompts if prompt.open]
    starts = [target.opening(prompt.text) for prompt in open_ones]
    width = max(map(len, starts))
    sampler = Sampler(target.model, how.rows, width, how.opening_tokens, target.stop)
    temperatures = [how.opening_temperature] * len(starts)
    endings = [ending for batch in sampler.all(starts, temperatures) for ending in batch]
    done = [prompt for prompt in prompts if not prompt.open]
    for prompt, ending in zip(open_ones, endings, strict=True):
        if ending[-1] == target.stop:
            words = target.tokenizer.decode(ending[:-1])
            done.append(Prompt(prompt.kind, (prompt.text + words).strip()))
    return done


def distinct(prompts: list[Prompt], avoid: list[Prompt]) -> list[Prompt]:
    """Each prompt once, without those that share a run of words with one of `avoid`."""
    index = Index(prompt.text for prompt in avoid)
    return [prompt for prompt in dict.fromkeys(prompts) if not index.touches(prompt.text)]


def answered(target: Target, prompts: list[Prompt], how: Sampling) -> list[Chat]:
    """Each prompt answered at the next of the temperatures, in order, while time is left."""
    begin = time.monotonic()
    questions = [(prompt, target.question(prompt.text)) for prompt in prompts]
    asked = [(prompt, tokens) for prompt, tokens in questions if len(tokens) <= how.prompt_tokens]
    heats = how.answer_temperatures
    temperatures = [heats[turn % len(heats)] for turn in range(len(asked))]
    sampler = Sampler(target.model, how.rows, how.prompt_tokens, how.answer_tokens, target.stop)
    chats: list[Chat] = []
    for batch in sampler.all([tokens for _, tokens in asked], temperatures):
        chats += [
            Chat(prompt, tokens, answer)
            for (prompt, tokens), answer in zip(asked[len(chats) :], batch, strict=False)
        ]
        if time.monotonic() - begin > how.seconds:
            break
    return chats
