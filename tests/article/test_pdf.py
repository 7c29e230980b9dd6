"""The page on paper."""

import pytest

from specdock.article.pdf import PrintFailed, print_page


def test_a_browser_prints_the_page(won, tmp_path):
    out = tmp_path / "article.pdf"
    print_page(won.out / "article.html", out)
    content = out.read_bytes()
    assert content.startswith(b"%PDF-") and len(content) > 100_000


def test_without_a_browser_it_says_what_to_install(won, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrintFailed, match="install chromium"):
        print_page(won.out / "article.html", tmp_path / "article.pdf")
