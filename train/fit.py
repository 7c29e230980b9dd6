"""Trains the drafters on the target's answers; writes weights and what the training was."""

import argparse
import json
from pathlib import Path

import torch
from drafters.recipe import Recipe
from drafters.target import Target
from drafters.texts import Texts
from drafters.training import Pupil, train


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--recipe", type=Path, required=True)
    arguments.add_argument("--target", type=Path, required=True, help="folder of the target")
    arguments.add_argument("--chats", type=Path, required=True, help="folder that sample.py wrote")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument(
        "--out", type=Path, required=True, help="a folder a drafter is made here"
    )
    options = arguments.parse_args()

    recipe = Recipe.load(options.recipe)
    torch.manual_seed(recipe.seed)
    target = Target(options.target, options.device)
    chats = Texts.load(options.chats / "train.safetensors")
    pupils = {
        name: Pupil(recipe.drafter(name, target), lesson.rate, lesson.decay)
        for name, lesson in recipe.drafters.items()
    }
    curve = []
    for row in train(target, pupils, chats, recipe.course, recipe.seed):
        print(json.dumps(row), flush=True)
        curve.append(row)

    for name, pupil in pupils.items():
        pupil.drafter.save(options.out / name)
        report = {
            "chats": len(chats),
            "answer_tokens": int(chats.answer.sum()),
            "seconds": curve[-1]["seconds"],
            "loss": [{"step": row["step"], "loss": round(row[name], 4)} for row in curve],
        }
        text = json.dumps(report, indent=1) + "\n"
        (options.out / name / "training.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
