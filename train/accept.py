"""Measures trained drafters on held-out texts: tokens a verification step, by kind of text."""

import argparse
import json
from pathlib import Path

import torch
from drafters.acceptance import summary, walks
from drafters.recipe import Recipe
from drafters.target import Target
from drafters.texts import Texts


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--recipe", type=Path, required=True)
    arguments.add_argument("--target", type=Path, required=True, help="folder of the target")
    arguments.add_argument("--chats", type=Path, required=True, help="folder that sample.py wrote")
    arguments.add_argument("--weights", type=Path, required=True, help="folder that fit.py wrote")
    arguments.add_argument("--answer-tokens", type=int, help="use no more of an answer than this")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()

    recipe = Recipe.load(options.recipe)
    torch.manual_seed(recipe.seed)
    target = Target(options.target, options.device)
    found: dict[str, dict[str, object]] = {}
    for name in recipe.drafters:
        drafter = recipe.drafter(name, target)
        drafter.load(options.weights / name)
        found[name] = {}
        for path in sorted((options.chats / "held-out").glob("*.safetensors")):
            texts = Texts.load(path).cut(options.answer_tokens)
            found[name][path.stem] = summary(walks(target, drafter, texts), drafter.drafts)
            print(name, path.stem, json.dumps(found[name][path.stem]), flush=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
