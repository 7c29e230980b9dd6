"""The entry point: with the articles it re-finds and records, without them it still checks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURE = """\
article: small.txt
arms: {plain: {words: Plain, line: 1}}
scenarios: {}
passages:
- line: 1
  quotation: ran at 60.0
  kind: measured_there
  figures: [{id: small/plain, value: 60.0, unit: tok/s, metric: output_rate, arm: plain}]
not_figures: []
"""


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "config/published").mkdir(parents=True)
    (tmp_path / "config/published/small.yaml").write_text(FIGURE)
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles/small.txt").write_text("Plain ran at 60.0 tokens a second.\n")
    return tmp_path


def run(root: Path, articles: str = "articles") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts/refind.py")],
        cwd=root,
        env={"SPECDOCK_PUBLISHED": str(root / articles)},
        capture_output=True,
        text=True,
    )


def test_with_the_articles_it_counts_and_records(repository):
    first = run(repository)
    assert (first.returncode, first.stdout) == (0, "small: 1 numbers, 1 of them figures, 0 not\n")
    written = (repository / "config/published/digests.yaml").read_text()
    run(repository)
    assert (repository / "config/published/digests.yaml").read_text() == written


def test_a_changed_article_is_refused_and_nothing_is_recorded(repository):
    (repository / "articles/small.txt").write_text("Plain ran at 61.0 tokens a second.\n")
    result = run(repository)
    assert result.returncode == 2
    assert "61.0 is in no figure and not in not_figures" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (repository / "config/published/digests.yaml").exists()


def test_without_the_articles_a_changed_claim_is_still_found(repository):
    run(repository)
    shutil.rmtree(repository / "articles")
    assert run(repository).returncode == 0
    ledger = repository / "config/published/small.yaml"
    ledger.write_text(ledger.read_text().replace("60.0", "62.0"))
    result = run(repository)
    assert result.returncode == 2
    assert "config/published/small.yaml" in result.stderr
    assert "run scripts/refind.py with the articles at hand" in result.stderr


def test_one_missing_article_is_named(repository):
    (repository / "articles/small.txt").unlink()
    result = run(repository)
    assert result.returncode == 2
    assert "articles/small.txt" in result.stderr
    assert "SPECDOCK_PUBLISHED" in result.stderr
