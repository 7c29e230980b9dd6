"""The recipe: what is trained, on what, for how long. One YAML file, checked by its types."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from drafters.ask import Sampling
from drafters.dflash import DFlash
from drafters.draft import Draft
from drafters.drafter import Drafter
from drafters.mtp import Mtp
from drafters.target import Target
from drafters.training import Course

CLASSES = {"mtp": Mtp, "dflash": DFlash, "draft": Draft}


@dataclass(frozen=True)
class Lesson:
    """One drafter: its shape (arguments of its class), learning rate, weight of a later draft."""

    shape: dict[str, Any]
    rate: float
    decay: float


@dataclass(frozen=True)
class Recipe:
    """The whole recipe; `held_out` prompts of every kind are only measured on."""

    kinds: list[str]
    held_out: int
    seed: int
    sample: Sampling
    course: Course
    drafters: dict[str, Lesson]

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a recipe file."""
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        return cls(
            kinds=entries["kinds"],
            held_out=entries["held_out"],
            seed=entries["seed"],
            sample=Sampling(**entries["sample"]),
            course=Course(**entries["course"]),
            drafters={name: Lesson(**lesson) for name, lesson in entries["drafters"].items()},
        )

    def drafter(self, name: str, target: Target) -> Drafter:
        """The drafter of a name, untrained, on the target's device."""
        return CLASSES[name](target, **self.drafters[name].shape).to(target.device)
