"""Fixtures of the tests that need the recipe's own environment."""

from pathlib import Path

import pytest
import torch
from drafters.dflash import DFlash
from drafters.draft import Draft
from drafters.drafter import Drafter
from drafters.mtp import Mtp
from drafters.target import Target

from tests.train.tiny import write_tiny_target


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    write_tiny_target(made)
    return made


@pytest.fixture(scope="session")
def target(folder: Path) -> Target:
    """In single precision, so that two ways to compute one thing agree closely."""
    torch.set_num_threads(1)
    made = Target(folder, "cpu")
    made.model.float()
    return made


@pytest.fixture(params=["mtp", "dflash", "draft"])
def drafter(request: pytest.FixtureRequest, target: Target) -> Drafter:
    torch.manual_seed(1)
    if request.param == "mtp":
        return Mtp(target, drafts=3)
    if request.param == "dflash":
        return DFlash(target, block=4, depth=2, feed_width=32, reads=[0, 2], mask=16)
    return Draft(target, drafts=3, width=24, depth=1, feed_width=32, heads=2)
