"""Builds the environment of the recipe from its lock, and writes down where its interpreter is."""

import argparse
from pathlib import Path

from specdock.environments.build import build
from specdock.plan.models import VenvEnvironment

ENVIRONMENT = VenvEnvironment(
    kind="venv", lock="envs/train.lock", fallback="envs/torch-2.13.0-cuda.lock", python="3.11"
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", type=Path, required=True)
    options = arguments.parse_args()
    python = build("train", ENVIRONMENT, Path.cwd()).python
    options.out.write_text(f"{python}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
