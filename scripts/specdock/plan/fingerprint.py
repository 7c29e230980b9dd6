"""Fingerprints: sha256 over what decides a result, so that a path changes exactly when it must."""

import ast
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

LENGTH = 16


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces: one text for one meaning."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: object) -> str:
    """First 16 hex digits of the sha256 of a JSON-able value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:LENGTH]


def sha256_of(path: Path) -> str:
    """sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_fingerprint(paths: Iterable[Path], root: Path) -> str:
    """Fingerprint of Python modules by their syntax trees.

    Comments, docstrings and formatting decide no result, so they change no fingerprint; nor does
    the Python that parses them, whose newer versions only add fields that are empty here.
    """
    return fingerprint(
        {str(path.relative_to(root)): _meaning(path.read_text("utf-8")) for path in sorted(paths)}
    )


def _meaning(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            node.body = body[1:] or [ast.Pass()]
    return canonical(_without_empty_fields(tree))


def _without_empty_fields(node: object) -> object:
    if isinstance(node, ast.AST):
        fields = {name: _without_empty_fields(value) for name, value in ast.iter_fields(node)}
        return [type(node).__name__, {k: v for k, v in fields.items() if v not in (None, [])}]
    if isinstance(node, list):
        return [_without_empty_fields(part) for part in node]
    return node if isinstance(node, str | int | float | bool | None) else repr(node)
