"""Cross-references of a study: every name it uses exists, and the engine version can do it."""

from pathlib import Path

from specdock.plan.models import (
    Arm,
    Checkpoint,
    Client,
    DataSet,
    Engine,
    EnvironmentSpec,
    PackageSource,
    Scenario,
    Study,
)
from specdock.plan.problems import ConfigError, Problem, unknown_name
from specdock.plan.spec import DRIFT_CONTROL
from specdock.published.ledger import load_ledger
from specdock.published.refind import ledger_names
from specdock.tables.schema import METRICS

# What a band may speak of: metrics of cells, and the share of outputs that repeat plain decoding.
BANDED = (*METRICS, "identical_share")

# BFCL's own cap of an answer, which its command line cannot change.
BFCL_MAX_TOKENS = 4096


def check(
    root: Path,
    name: str,
    study: Study,
    engines: dict[str, Engine],
    models: dict[str, Checkpoint],
    data_sets: dict[str, DataSet],
    clients: dict[str, Client],
) -> None:
    """Raises `ConfigError` with every broken reference of the study."""
    file = f"config/studies/{name}.yaml"
    problems = [p for arm in study.arms for p in _arm(file, arm, study.arms[arm], engines, models)]
    for index, scenario in enumerate(study.scenarios):
        problems += _scenario(file, f"scenarios.{index}", scenario, study, data_sets)
        path = f"scenarios.{index}.load_generator.client"
        problems += _load_generator(file, path, scenario, study, engines, models, clients)
    problems += _peers(file, study, models, clients, data_sets)
    problems += _roles(file, study) + _gates(file, study) + _rest(file, study)
    problems += _published_drafters(root, file, study)
    for engine in {arm.engine for arm in study.arms.values()} & engines.keys():
        problems += _locks(root, "config/engines.yaml", engine, engines[engine].environment)
    for client in _named_clients(study) & clients.keys():
        problems += _locks(root, "config/clients.yaml", client, clients[client].environment)
    if problems:
        raise ConfigError(problems)


def scenario_ids(study: Study) -> list[str]:
    """The ids that `streams` lists expand to, such as essays@8."""
    ids = []
    for scenario in study.scenarios:
        levels = scenario.streams if isinstance(scenario.streams, list) else [scenario.streams]
        suffix = "" if scenario.sampling == "greedy" else f"-{scenario.sampling}"
        ids += [f"{scenario.name or scenario.workload}{suffix}@{streams}" for streams in levels]
    return ids


def _arm(
    file: str, name: str, arm: Arm, engines: dict[str, Engine], models: dict[str, Checkpoint]
) -> list[Problem]:
    path = f"arms.{name}"
    problems = []
    if arm.target not in models:
        problems.append(unknown_name(file, f"{path}.target", arm.target, models))
    drafter = arm.speculation.drafter
    if drafter and drafter not in models:
        problems.append(unknown_name(file, f"{path}.speculation.drafter", drafter, models))
    if arm.engine not in engines:
        return [*problems, unknown_name(file, f"{path}.engine", arm.engine, engines)]
    engine = engines[arm.engine]
    problems += _serve(file, f"{path}.serve", arm, engine)
    return problems + _speculation(file, f"{path}.speculation", arm, engine)


def _serve(file: str, path: str, arm: Arm, engine: Engine) -> list[Problem]:
    problems = []
    for key in sorted(arm.serve.model_fields_set - {"flags"}):
        if key not in engine.serve:
            allowed = [*engine.serve, "flags"]
            problems.append(unknown_name(file, f"{path}.{key}", key, allowed, arm.engine))
            continue
        value = str(getattr(arm.serve, key)).lower()
        spelled = engine.serve[key]
        if isinstance(spelled, dict) and value not in spelled:
            problems.append(unknown_name(file, f"{path}.{key}", value, spelled, arm.engine))
    return problems


def _speculation(file: str, path: str, arm: Arm, engine: Engine) -> list[Problem]:
    wanted = arm.speculation
    given = sorted(wanted.model_fields_set - {"method"})
    if wanted.method == "none":
        return [
            Problem(file, f"{path}.{key}", f"{key} without a method", "nothing, method is none")
            for key in given
        ]
    if wanted.method not in engine.speculation:
        allowed = ["none", *engine.speculation]
        return [unknown_name(file, f"{path}.method", wanted.method, allowed, arm.engine)]
    support = engine.speculation[wanted.method]
    where = f"{wanted.method} in {arm.engine}"
    keys = ["draft_tokens", *support.keys, *engine.speculation_keys]
    keys += ["drafter"] if support.needs_drafter else []
    problems = [
        unknown_name(file, f"{path}.{key}", key, keys, where) for key in given if key not in keys
    ]
    required = ["draft_tokens", *(["drafter"] if support.needs_drafter else [])]
    problems += [
        Problem(file, f"{path}.{key}", "nothing", f"{where} needs this key")
        for key in required
        if getattr(wanted, key) is None
    ]
    return problems


def _scenario(
    file: str, path: str, scenario: Scenario, study: Study, data_sets: dict[str, DataSet]
) -> list[Problem]:
    problems = []
    if scenario.workload not in data_sets:
        problems.append(unknown_name(file, f"{path}.workload", scenario.workload, data_sets))
    else:
        problems += _prose(file, path, scenario, data_sets[scenario.workload])
        problems += _bfcl(file, path, scenario, data_sets[scenario.workload])
    known = {"greedy", *study.sampling}
    if scenario.sampling not in known:
        problems.append(unknown_name(file, f"{path}.sampling", scenario.sampling, known))
    for arm in scenario.arms or []:
        if arm not in study.arms:
            problems.append(unknown_name(file, f"{path}.arms", arm, study.arms))
    levels = scenario.streams if isinstance(scenario.streams, list) else [scenario.streams]
    for streams in levels:
        if scenario.requests < streams:
            problems.append(
                Problem(
                    file,
                    f"{path}.requests",
                    f"{scenario.requests} requests for {streams} streams",
                    "at least as many requests as streams",
                )
            )
        if scenario.warmups is not None and scenario.warmups < streams:
            problems.append(
                Problem(
                    file,
                    f"{path}.warmups",
                    f"{scenario.warmups} warm-ups for {streams} streams",
                    "at least as many warm-ups as streams",
                )
            )
    if (scenario.warmup_tokens or 0) > scenario.max_tokens:
        problems.append(
            Problem(
                file,
                f"{path}.warmup_tokens",
                f"{scenario.warmup_tokens}, and a measured answer has {scenario.max_tokens}",
                "at most max_tokens",
            )
        )
    if scenario.floor is not None and scenario.grade is None:
        problems.append(Problem(file, f"{path}.floor", "a floor without a grade", "a grade"))
    return problems


def _prose(file: str, path: str, scenario: Scenario, data_set: DataSet) -> list[Problem]:
    is_prose = data_set.reader.format == "text"
    if is_prose == (scenario.prompt_tokens is not None):
        return []
    found = f"{scenario.prompt_tokens or 'nothing'}, and {scenario.workload} is "
    found += "prose" if is_prose else "no prose"
    allowed = "a length to cut the prose to" if is_prose else "nothing: only prose is cut"
    return [Problem(file, f"{path}.prompt_tokens", found, allowed)]


def _bfcl(file: str, path: str, scenario: Scenario, data_set: DataSet) -> list[Problem]:
    """BFCL asks by itself: of a scenario it takes threads, cases and the temperature."""
    if data_set.bfcl is None:
        if scenario.grade != "bfcl":
            return []
        wanted = f"another grade: {scenario.workload} lists no cases of BFCL"
        return [Problem(file, f"{path}.grade", "bfcl", wanted)]
    own = {"grade": "bfcl", "max_tokens": BFCL_MAX_TOKENS}
    absent = "warmups", "warmup_tokens", "thinking", "effort", "load_generator"
    own |= dict.fromkeys(absent, None) | {"fixed_length": False}
    return [
        Problem(
            file,
            f"{path}.{key}",
            repr(getattr(scenario, key)),
            f"{value}: BFCL's client decides it" if value is not None else "nothing: BFCL has none",
        )
        for key, value in own.items()
        if getattr(scenario, key) != value
    ]


def _load_generator(
    file: str,
    path: str,
    scenario: Scenario,
    study: Study,
    engines: dict[str, Engine],
    models: dict[str, Checkpoint],
    clients: dict[str, Client],
) -> list[Problem]:
    if scenario.load_generator is None:
        return []
    found = scenario.load_generator.client
    names = [arm for arm in scenario.arms or study.arms if arm in study.arms]
    named = "--tokenizer" in scenario.load_generator.flags
    problems = [] if named else _tokenizer(file, path, names, study, models)
    if found not in clients:
        return [*problems, unknown_name(file, path, found, clients)]
    served = {study.arms[arm].engine for arm in names} & engines.keys()
    return problems + [
        Problem(
            file,
            path,
            f"{found}, which tells too little of requests to {engine}",
            ", ".join(n for n, c in clients.items() if engines[engine].adapter in c.generates_load),
        )
        for engine in sorted(served)
        if engines[engine].adapter not in clients[found].generates_load
    ]


def _peers(
    file: str,
    study: Study,
    models: dict[str, Checkpoint],
    clients: dict[str, Client],
    data_sets: dict[str, DataSet],
) -> list[Problem]:
    if (peers := study.peers) is None:
        return []
    ids = scenario_ids(study)
    problems = []
    if peers.arm not in study.arms:
        problems.append(unknown_name(file, "peers.arm", peers.arm, study.arms))
    else:
        problems += _tokenizer(file, "peers.arm", [peers.arm], study, models)
    if peers.scenario not in ids:
        problems.append(unknown_name(file, "peers.scenario", peers.scenario, ids))
    for index, client in enumerate(peers.clients):
        if client not in clients:
            problems.append(unknown_name(file, f"peers.clients.{index}", client, clients))
        elif client in peers.clients[:index]:
            problems.append(Problem(file, f"peers.clients.{index}", client, "each client once"))
    for index, scenario in enumerate(study.scenarios):
        own = {*scenario_ids(study.model_copy(update={"scenarios": [scenario]}))}
        if peers.scenario in own and scenario.load_generator is not None:
            path = f"scenarios.{index}.load_generator"
            wanted = "nothing: peers are compared with our client in this scenario"
            problems.append(Problem(file, path, scenario.load_generator.client, wanted))
        asked_by_bfcl = scenario.workload in data_sets and data_sets[scenario.workload].bfcl
        if peers.scenario in own and asked_by_bfcl:
            wanted = "a scenario whose prompts our client sends: BFCL asks by itself"
            problems.append(Problem(file, "peers.scenario", peers.scenario, wanted))
        if peers.scenario in own and scenario.arms and peers.arm not in scenario.arms:
            problems.append(unknown_name(file, "peers.arm", peers.arm, scenario.arms))
    return problems


def _tokenizer(
    file: str, path: str, arms: list[str], study: Study, models: dict[str, Checkpoint]
) -> list[Problem]:
    """Other people's clients load the target's tokenizer, which a GGUF file keeps inside."""
    targets = {arm: study.arms[arm].target for arm in arms}
    return [
        Problem(
            file,
            path,
            f"{arm}, whose target {target} is a GGUF file",
            "arms whose target has its tokenizer beside the weights, or a load generator whose "
            "flags name a --tokenizer: other clients load one",
        )
        for arm, target in targets.items()
        if target in models and _is_gguf(models[target])
    ]


def _is_gguf(checkpoint: Checkpoint) -> bool:
    source = checkpoint.source
    names = source.members if isinstance(source, PackageSource) else source.files
    return checkpoint.convert is None and any(name.endswith(".gguf") for name in names)


def _named_clients(study: Study) -> set[str]:
    named = {s.load_generator.client for s in study.scenarios if s.load_generator}
    return named | set(study.peers.clients if study.peers else [])


def _roles(file: str, study: Study) -> list[Problem]:
    problems = []
    for role, value in study.roles.items():
        for arm in value if isinstance(value, list) else [value]:
            if arm not in study.arms:
                problems.append(unknown_name(file, f"roles.{role}", arm, study.arms))
        if isinstance(value, list) and role not in ("control", "sweep"):
            problems.append(Problem(file, f"roles.{role}", repr(value), "one arm"))
    return problems


def _gates(file: str, study: Study) -> list[Problem]:
    problems = []
    ids = scenario_ids(study)
    for index, gate in enumerate(study.gates):
        path = f"gates.{index}"
        if gate.metric not in METRICS:
            problems.append(unknown_name(file, f"{path}.metric", gate.metric, METRICS))
        if gate.scenario not in ids:
            problems.append(unknown_name(file, f"{path}.scenario", gate.scenario, ids))
        for key in ("arm", "against"):
            arm = getattr(gate, key)
            if arm is not None and arm not in study.arms:
                problems.append(unknown_name(file, f"{path}.{key}", arm, study.arms))
    return problems


def _rest(file: str, study: Study) -> list[Problem]:
    problems = [
        unknown_name(file, f"band.{metric}", metric, BANDED)
        for metric in study.band
        if metric not in BANDED
    ]
    problems += [
        unknown_name(file, f"chain.{index}", arm, study.arms)
        for index, arm in enumerate(study.chain)
        if arm not in study.arms
    ]
    ids = scenario_ids(study)
    problems += _drift_control(file, study, ids)
    problems += [
        unknown_name(file, f"stands_for.{published}", ours, ids)
        for published, ours in study.stands_for.items()
        if ours not in ids
    ]
    problems += [
        Problem(file, "scenarios", f"{scenario} twice", "one scenario an id; give it a `name`")
        for scenario in sorted({s for s in ids if ids.count(s) > 1})
    ]
    return problems


def _drift_control(file: str, study: Study, ids: list[str]) -> list[Problem]:
    problems = []
    if DRIFT_CONTROL in study.arms:
        taken = "another name: the arm that repeats the reference has this one"
        problems.append(Problem(file, "arms", DRIFT_CONTROL, taken))
    if study.drift_control is None:
        return problems
    if study.drift_control not in ids:
        problems.append(unknown_name(file, "drift_control", study.drift_control, ids))
    if "reference" not in study.roles:
        wanted = "an arm in the role reference, which it repeats"
        problems.append(Problem(file, "drift_control", study.drift_control, wanted))
    return problems


def _published_drafters(root: Path, file: str, study: Study) -> list[Problem]:
    problems = []
    for named, plain in study.published_drafters.items():
        ledger, _, arm = named.partition("/")
        path = f"published_drafters.{named}"
        if ledger not in ledger_names(root):
            problems.append(unknown_name(file, path, ledger, ledger_names(root)))
            continue
        arms = load_ledger(root, ledger).arms
        unknown = [name for name in (arm, plain) if name not in arms]
        problems += [unknown_name(file, path, name, arms, ledger) for name in unknown]
    return problems


def _locks(root: Path, file: str, name: str, environment: EnvironmentSpec) -> list[Problem]:
    return [
        Problem(file, f"{name}.environment", lock, "a file of this repository")
        for lock in environment.locks
        if not (root / lock).is_file()
    ]
