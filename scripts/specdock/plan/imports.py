"""The modules that a script stands on, so that an edit of any of them reruns its rule."""

import ast
from pathlib import Path


def modules_of(script: Path, root: Path) -> list[str]:
    """The script and every module of `scripts/` that it imports, directly or not, from `root`."""
    scripts = root / "scripts"
    found: set[Path] = set()
    open_files = [script]
    while open_files:
        path = open_files.pop()
        if path not in found:
            found.add(path)
            open_files += _imported(path, scripts)
    return sorted(str(path.relative_to(root)) for path in found)


def _imported(path: Path, scripts: Path) -> list[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    candidates = [scripts.joinpath(*name.split(".")) for name in names]
    modules = [path.with_suffix(".py") for path in candidates]
    packages = [path / "__init__.py" for path in candidates]
    return [path for path in modules + packages if path.is_file()]
