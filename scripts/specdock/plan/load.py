"""Reads config files: YAML with duplicate keys refused, each file against its model."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from specdock.pins.fingerprint import pin_fingerprint
from specdock.plan.inherit import inherit, merge
from specdock.plan.models import Checkpoint, Client, DataSet, Engine, Study
from specdock.plan.problems import ConfigError, Problem, from_validation, unknown_name

M = TypeVar("M", bound=BaseModel)


def read_yaml(path: Path, shown: str) -> dict:
    """The mapping in a YAML file; raises `ConfigError` with the line of a syntax fault."""
    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError([Problem(shown, "", "no such file")]) from None
    except MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else ""
        what = " ".join((error.problem or str(error)).split())
        raise ConfigError([Problem(shown, line, what, "YAML without duplicate keys")]) from None
    if not isinstance(content, dict):
        raise ConfigError([Problem(shown, "", type(content).__name__, "a mapping of keys")])
    return content


def load_catalogue(path: Path, shown: str, model: type[M]) -> dict[str, M]:
    """A file of named entries (engines, models, data sets); entries may `extends` one another."""
    raw = read_yaml(path, shown)
    entries, problems = {}, []
    for name, body in inherit(raw, shown).items():
        if body.pop("abstract", False):
            continue
        try:
            entries[name] = model.model_validate(body)
        except ValidationError as error:
            problems += [
                Problem(p.file, f"{name}.{p.path}", p.found, p.allowed, p.hint)
                for p in from_validation(error, shown, model)
            ]
    if problems:
        raise ConfigError(problems)
    return entries


def load_engines(root: Path) -> dict[str, Engine]:
    """config/engines.yaml."""
    return load_catalogue(root / "config/engines.yaml", "config/engines.yaml", Engine)


def load_models(root: Path) -> dict[str, Checkpoint]:
    """config/models.yaml; a derived checkpoint carries the entry of its base."""
    file = "config/models.yaml"
    models = load_catalogue(root / file, file, Checkpoint)
    for name, entry in models.items():
        if entry.derive is None:
            continue
        base = entry.derive.base
        plain = [other for other, model in models.items() if model.derive is None]
        if base not in plain:
            raise ConfigError([unknown_name(file, f"{name}.derive.base", base, plain)])
        derive = entry.derive.model_copy(update={"checkpoint": models[base]})
        models[name] = entry.model_copy(update={"derive": derive})
    return models


def load_data_sets(root: Path) -> dict[str, DataSet]:
    """config/datasets.yaml."""
    return load_catalogue(root / "config/datasets.yaml", "config/datasets.yaml", DataSet)


def load_clients(root: Path) -> dict[str, Client]:
    """config/clients.yaml."""
    return load_catalogue(root / "config/clients.yaml", "config/clients.yaml", Client)


def load_pin(root: Path, pin: str) -> tuple[str, Checkpoint | DataSet]:
    """Name and entry behind `name.fingerprint`; raises `ConfigError` if config holds another."""
    entries = [*load_models(root).items(), *load_data_sets(root).items()]
    pins = {f"{name}.{pin_fingerprint(entry)}": (name, entry) for name, entry in entries}
    if pin not in pins:
        raise ConfigError([unknown_name("config/models.yaml, config/datasets.yaml", "", pin, pins)])
    return pins[pin]


def load_study(root: Path, name: str) -> Study:
    """config/studies/<name>.yaml, complete.

    A study may `extends` another one; `defaults`, `extends` and `sweep` of its arms are applied.
    """
    shown = f"config/studies/{name}.yaml"
    raw = _written_study(root, name, "config/config.yaml", "study")
    arms = raw.get("arms")
    if isinstance(arms, dict):
        raw["arms"] = inherit(arms, shown, "arms.", raw.get("defaults") or {})
    raw.pop("defaults", None)
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(from_validation(error, shown, Study)) from None


def _written_study(root: Path, name: str, asked_in: str, key: str, *above: str) -> dict:
    """A study file with its base laid under it; `asked_in` and `key` name who asked for it."""
    known = [path.stem for path in (root / "config/studies").glob("*.yaml")]
    if name not in known or name in above:
        others = [study for study in known if study not in above]
        raise ConfigError([unknown_name(asked_in, key, name, others)])
    shown = f"config/studies/{name}.yaml"
    raw = read_yaml(root / shown, shown)
    base = raw.pop("extends", None)
    if base is None:
        return raw
    return merge(_written_study(root, str(base), shown, "extends", *above, name), raw)
