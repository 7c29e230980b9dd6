"""The whole recipe, at a size that one core does in seconds, in its own environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import safe_open

from tests.train.conftest import ROOT


def called(*command: str | Path) -> None:
    """Runs a command from the repository's root; its output is the message if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_modules_hold_in_their_own_environment(interpreter):
    called(interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/train/inside")


@pytest.fixture(scope="module")
def made(interpreter, tmp_path_factory) -> Path:
    """Everything that the recipe makes for a tiny target."""
    folder = tmp_path_factory.mktemp("made")
    called(interpreter, "tests/train/tiny.py", folder / "target")
    scenario = {
        "kind": "essays",
        "text": "Write an essay about the sea and the people who fear it.",
    }
    (folder / "scenarios.jsonl").write_text(json.dumps(scenario) + "\n")
    settings = {
        "target": folder / "target",
        "recipe": "tests/train/toy.yaml",
        "scenarios": folder / "scenarios.jsonl",
        "python": interpreter,
        "out": folder,
    }
    called(
        *(sys.executable, "-m", "snakemake", "-s", "train/Snakefile", "--cores", "1"),
        *("--directory", ROOT, "--nolock", "--workflow-profile", "none"),
        *("--config", *(f"{key}={value}" for key, value in settings.items())),
    )
    return folder


@pytest.mark.parametrize("drafter", ["mtp", "dflash", "draft"])
def test_every_drafter_comes_nearer_to_the_target(made, drafter):
    loss = [
        row["loss"]
        for row in json.loads((made / f"weights/{drafter}/training.json").read_text())["loss"]
    ]
    assert loss[-1] < loss[0]


@pytest.mark.parametrize(("drafter", "drafts"), [("mtp", 3), ("dflash", 3), ("draft", 2)])
def test_every_drafter_is_measured_on_every_kind_of_held_out_text(made, drafter, drafts):
    found = json.loads((made / "acceptance.json").read_text())[drafter]
    assert "essays" in found
    for kind in found.values():
        assert kind["steps"] > 0
        assert 1 <= kind["acceptance_length"] <= 1 + drafts
        assert len(kind["accepted_at_position"]) == drafts


def test_a_drafter_is_small_because_it_carries_nothing_of_the_target(made):
    with safe_open(made / "weights/dflash/model.safetensors", "np") as file:
        assert not any("embed" in name or "lm_head" in name for name in file.keys())  # noqa: SIM118
