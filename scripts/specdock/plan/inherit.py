"""`extends`, `defaults` and `sweep`: how a short block of config becomes complete entries."""

from itertools import product

from specdock.plan.problems import ConfigError, Problem, unknown_name


def merge(base: dict, over: dict) -> dict:
    """`over` laid on `base`: mappings merge key by key, anything else replaces, null removes."""
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def inherit(
    entries: dict[str, dict], file: str, prefix: str = "", defaults: dict | None = None
) -> dict[str, dict]:
    """Entries with their bases laid under them and their sweeps laid out.

    A base's `sweep` and `abstract` are its own and are not inherited. Raises `ConfigError` for an
    unknown base, a circle, or a sweep that is not a mapping of dotted keys to lists.
    """
    problems = [
        Problem(file, f"{prefix}{name}", type(body).__name__, "a mapping of keys")
        for name, body in entries.items()
        if not isinstance(body, dict)
    ]
    if problems:
        raise ConfigError(problems)
    complete: dict[str, dict] = {}
    for name in entries:
        try:
            body = _resolve(name, entries, defaults or {}, file, prefix, ())
            complete |= _sweep(name, body, file, prefix)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return complete


def _resolve(
    name: str, entries: dict, defaults: dict, file: str, prefix: str, seen: tuple[str, ...]
) -> dict:
    if name in seen:
        circle = " -> ".join((*seen[seen.index(name) :], name))
        raise ConfigError([Problem(file, f"{prefix}{seen[0]}.extends", circle, "no circle")])
    body = dict(entries[name])
    base = body.pop("extends", None)
    if base is None:
        return merge(defaults, body)
    if base not in entries:
        others = [entry for entry in entries if entry != name]
        raise ConfigError([unknown_name(file, f"{prefix}{name}.extends", str(base), others)])
    below = _resolve(base, entries, defaults, file, prefix, (*seen, name))
    own = {key: value for key, value in below.items() if key not in ("sweep", "abstract")}
    return merge(own, body)


def _sweep(name: str, body: dict, file: str, prefix: str) -> dict[str, dict]:
    axes = body.pop("sweep", None)
    if axes is None:
        return {name: body}
    if not isinstance(axes, dict) or not all(isinstance(v, list) and v for v in axes.values()):
        raise ConfigError(
            [Problem(file, f"{prefix}{name}.sweep", repr(axes), "dotted keys, each with a list")]
        )
    swept = {}
    for values in product(*axes.values()):
        arm, label = body, name
        for path, value in zip(axes, values, strict=True):
            *parents, leaf = path.split(".")
            change: dict = {leaf: value}
            for parent in reversed(parents):
                change = {parent: change}
            arm = merge(arm, change)
            label += f"-{leaf.replace('_', '-')}-{str(value).lower().replace(' ', '')}"
        swept[label] = arm
    return swept
