"""Asks the target many questions and keeps its answers: to train on, and to measure on."""

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

import torch
from drafters.ask import Chat, answered, completed, distinct
from drafters.prompts import Prompt, take
from drafters.recipe import Recipe
from drafters.target import Target
from drafters.texts import Texts

LONGEST_SCENARIO = 448  # tokens of a scenario's prompt; a longer one is not measured on here


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--recipe", type=Path, required=True)
    arguments.add_argument("--patterns", type=Path, required=True)
    arguments.add_argument("--target", type=Path, required=True, help="folder of the target")
    arguments.add_argument(
        "--scenarios", type=Path, required=True, help="JSON lines (kind, text) to keep clear of"
    )
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()

    recipe = Recipe.load(options.recipe)
    how = recipe.sample
    torch.manual_seed(recipe.seed)
    target = Target(options.target, options.device, attention="grouped")
    scenarios = [Prompt(**json.loads(line)) for line in options.scenarios.read_text().splitlines()]

    def drawn(each: int, seed: int, avoid: list[Prompt]) -> list[Prompt]:
        """Finished prompts of all kinds, mixed."""
        asked = take(options.patterns, recipe.kinds, each, seed)
        found = distinct(completed(target, asked, how), avoid)
        random.Random(seed).shuffle(found)
        return found

    spare = drawn(4 * recipe.held_out, recipe.seed + 1, scenarios) + scenarios
    measured = [
        prompt
        for kind in dict.fromkeys(prompt.kind for prompt in spare)
        for prompt in [each for each in spare if each.kind == kind][: recipe.held_out]
    ]
    strict = replace(
        how, rows=len(measured), prompt_tokens=LONGEST_SCENARIO, answer_temperatures=[0.0]
    )
    answers = answered(target, measured, strict)
    for kind in dict.fromkeys(chat.prompt.kind for chat in answers):
        keep(
            options.out / "held-out" / kind, [chat for chat in answers if chat.prompt.kind == kind]
        )
    learned = drawn(how.prompts, recipe.seed, scenarios + measured)
    keep(options.out / "train", answered(target, learned, how))


def keep(stem: Path, chats: list[Chat]) -> None:
    """Writes chats as tokens and their prompts as readable lines, beside each other."""
    texts = Texts.of([chat.question for chat in chats], [chat.answer for chat in chats])
    texts.save(stem.with_suffix(".safetensors"))
    lines = [json.dumps(vars(chat.prompt), ensure_ascii=False) + "\n" for chat in chats]
    stem.with_suffix(".jsonl").write_text("".join(lines))
    print(
        f"{stem.name}: {len(texts)} chats, {int(texts.answer.sum())} tokens of answers", flush=True
    )


if __name__ == "__main__":
    main()
