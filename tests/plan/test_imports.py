"""A rule depends on the modules that its script really imports."""

from pathlib import Path

from specdock.plan.imports import modules_of


def write(root: Path, name: str, text: str) -> None:
    path = root / "scripts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_modules_are_found_through_every_form_of_import(tmp_path):
    write(tmp_path, "do.py", "import os\nfrom box.a import f\nimport box.b\n")
    write(tmp_path, "box/__init__.py", "")
    write(tmp_path, "box/a.py", "from box import c\n")
    write(tmp_path, "box/b.py", "def g():\n    from box.a import f\n")
    write(tmp_path, "box/c.py", "import json\n")
    write(tmp_path, "box/other.py", "")
    found = modules_of(tmp_path / "scripts/do.py", tmp_path)
    assert found == [
        "scripts/box/__init__.py",
        "scripts/box/a.py",
        "scripts/box/b.py",
        "scripts/box/c.py",
        "scripts/do.py",
    ]


def test_a_circle_of_imports_ends(tmp_path):
    write(tmp_path, "do.py", "import one\n")
    write(tmp_path, "one.py", "import two\n")
    write(tmp_path, "two.py", "import one\n")
    assert len(modules_of(tmp_path / "scripts/do.py", tmp_path)) == 3
