"""Config problems, collected and shown all at once: file, key, what was found, what is allowed."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError

from specdock.errors import SpecdockError


@dataclass(frozen=True)
class Problem:
    """One thing wrong in one place of a config file."""

    file: str
    path: str
    found: str
    allowed: str = ""
    hint: str = ""

    def __str__(self) -> str:
        lines = [
            f"{self.file}: {self.path}" if self.path else self.file,
            f"  found    {self.found}",
        ]
        if self.allowed:
            lines.append(f"  allowed  {self.allowed}")
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


class ConfigError(SpecdockError):
    """Every problem of the configuration."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = list(problems)
        super().__init__("\n\n".join(map(str, self.problems)))


def unknown_name(
    file: str, path: str, found: str, allowed: Iterable[str], where: str = ""
) -> Problem:
    """A name that is not in a list: with the list and the nearest name."""
    names = sorted(allowed)
    near = get_close_matches(found, names, n=1)
    listed = ", ".join(names) or "nothing is defined yet"
    return Problem(
        file,
        path,
        found,
        f"{listed}   ({where})" if where else listed,
        f"did you mean {near[0]}?" if near else "",
    )


def from_validation(error: ValidationError, file: str, model: type[BaseModel]) -> list[Problem]:
    """pydantic's findings as `Problem`s, with the allowed keys for an unknown one."""
    return [_one(item, file, model) for item in error.errors(include_url=False)]


def _one(item: dict, file: str, model: type[BaseModel]) -> Problem:
    location = [part for part in item["loc"] if not _is_tag(part)]
    path = ".".join(map(str, location))
    if item["type"] == "extra_forbidden":
        keys = _fields_at(model, location[:-1])
        return unknown_name(file, path, str(location[-1]), keys)
    if item["type"] == "missing":
        return Problem(file, path, "nothing", "this key must be given")
    if path.endswith("revision") and item["type"] == "string_pattern_mismatch":
        allowed = (
            "a commit of 40 hex digits, or pending with a short_commit; branches and tags move"
        )
        return Problem(file, path, str(item["input"]), allowed)
    found = item["input"]
    shown = (
        repr(found) if not isinstance(found, (dict, list)) else f"{type(found).__name__} {found}"
    )
    message = item["msg"].removeprefix("Value error, ")
    return Problem(file, path, shown[:200], message[0].lower() + message[1:])


def _is_tag(part: object) -> bool:
    """Union members appear in pydantic's paths; they are no keys of the file."""
    return isinstance(part, str) and (
        part in ("venv", "external", "container", "str", "int", "dict", "[key]")
        or part.startswith(("list[", "constrained-", "dict["))
        or part.endswith("Source")
    )


def _fields_at(model: type[BaseModel], location: list[str | int]) -> list[str]:
    """Keys that the model allows at a path of the file, found through the JSON schema."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    nodes = [schema]
    for part in location:
        nodes = [
            child
            for node in nodes
            for option in _options(node, definitions)
            for child in _children(option, part)
        ]
    return sorted(
        {
            key
            for node in nodes
            for o in _options(node, definitions)
            for key in o.get("properties", {})
        }
    )


def _options(node: dict, definitions: dict) -> list[dict]:
    if "$ref" in node:
        return _options(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    branches = node.get("anyOf", []) + node.get("oneOf", []) + node.get("allOf", [])
    return [node] + [option for branch in branches for option in _options(branch, definitions)]


def _children(node: dict, part: str | int) -> list[dict]:
    if isinstance(part, int):
        return [node["items"]] if isinstance(node.get("items"), dict) else []
    named = node.get("properties", {}).get(part)
    other = node.get("additionalProperties")
    return [named] if named else [other] if isinstance(other, dict) else []
