"""The cases of BFCL: as many as published, in categories of the published sizes, drawn by rule."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from specdock.environments.build import build
from specdock.plan.load import load_data_sets
from specdock.workloads.prompts import read_prompts

ROOT = Path(__file__).parents[2]
DATA_SET = load_data_sets(ROOT)["bfcl-205"]
CASES = read_prompts("bfcl-205", DATA_SET, ROOT / DATA_SET.source.path)
PUBLISHED = ("irrelevance", "parallel", "parallel_multiple", "multi_turn_base")


def test_sizes_are_the_published_ones_as_far_as_published():
    sizes = Counter(case.category for case in CASES)
    assert (len(CASES), len(sizes)) == (205, 10)
    assert (min(sizes.values()), max(sizes.values())) == (10, 25)
    assert {category: sizes[category] for category in PUBLISHED} == dict.fromkeys(PUBLISHED, 20)


def test_the_file_is_the_one_that_config_pins():
    [(name, digest)] = DATA_SET.source.files.items()
    content = (ROOT / DATA_SET.source.path / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest


def test_the_first_cases_are_of_different_categories():
    assert len({case.category for case in CASES[:10]}) == 10


@pytest.fixture(scope="module")
def shipped() -> Path:
    """BFCL's own data, in its environment."""
    python = build(DATA_SET.bfcl.name, DATA_SET.bfcl.environment, ROOT).python
    return next(python.parent.parent.glob("lib/python*/site-packages/bfcl_eval/data"))


def test_the_rule_that_the_file_states_draws_them_again(shipped):
    for category, size in Counter(case.category for case in CASES).items():
        lines = (shipped / f"BFCL_v4_{category}.json").read_text(encoding="utf-8").splitlines()
        ids = [json.loads(line)["id"] for line in lines if line.strip()]
        by_hash = sorted(ids, key=lambda id: hashlib.sha256(f"205 {id}".encode()).hexdigest())
        assert [c.prompt_id for c in CASES if c.category == category] == by_hash[:size]
