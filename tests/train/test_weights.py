"""The weights in this repository are the pinned ones, and small."""

import hashlib

import pytest

from specdock.plan.load import load_models
from specdock.plan.models import Checkpoint, PathSource
from tests.train.conftest import ROOT

TRAINED = {
    name: entry
    for name, entry in load_models(ROOT).items()
    if isinstance(entry.source, PathSource) and entry.source.path.startswith("train/weights/")
}


def test_there_is_a_head_a_block_drafter_and_a_draft_model():
    assert len(TRAINED) == 3


@pytest.mark.parametrize("entry", TRAINED.values(), ids=TRAINED.keys())
def test_weights_are_as_pinned_and_have_a_card(entry: Checkpoint):
    folder = ROOT / entry.source.path
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in entry.source.files
    }
    assert hashes == entry.source.files
    card = (folder / "README.md").read_text()
    assert hashes["model.safetensors"] in card
    assert entry.licence in card


def test_all_weights_together_stay_under_60_megabytes():
    weights = (ROOT / "train/weights").rglob("*.safetensors")
    assert sum(path.stat().st_size for path in weights) < 60e6
