"""Where the files of a plan are: the paths that rules take as inputs and outputs."""

from pathlib import Path

from snakemake.iocontainers import Wildcards

from specdock.pins.fingerprint import pin_fingerprint
from specdock.plan.fingerprint import canonical, code_fingerprint, fingerprint
from specdock.plan.imports import modules_of
from specdock.plan.models import HubSource, PendingSource
from specdock.plan.plan import Plan, Session, bfcl_environment, resolved_study
from specdock.plan.spec import ArmSpec, ClientSpec, SessionSpec


class Files:
    """Paths from the repository root, and the plan behind them.

    Everything is computed when Snakemake parses: an input function that raises would silently
    prune its job.
    """

    def __init__(self, plan: Plan, root: Path):
        self.plan = plan
        self._root = root
        self.study_fingerprint = fingerprint(resolved_study(plan))
        self.study = f"results/{plan.name}"
        self.manifests = [f"{self._raw(s)}/manifest.json" for s in plan.sessions]
        self.requests = [f"{self._raw(s)}/requests.parquet" for s in plan.sessions]
        self.specs = [self._spec(session) for session in plan.sessions]
        graders = code_fingerprint((root / "scripts/specdock/grades").glob("*.py"), root)
        self.grades = [self._grades(session, graders) for session in plan.sessions]
        self.templates = [
            str(path.relative_to(root))
            for path in sorted((root / "article").rglob("*"))
            if path.is_file()
        ]
        ledgers = [plan.study.published] if plan.study.published else []
        ledgers += [named.partition("/")[0] for named in plan.study.published_drafters]
        self.published = [f"config/published/{name}.yaml" for name in dict.fromkeys(ledgers)]
        self.article = [
            f"{self.study}/article/{name}"
            for name in ("article.html", "article.md", "audit.html", "numbers.json")
        ]

        # The cross-check with other clients, where the study asks for one.
        self.peers_spec, self.peers_manifest, self.peers = "", [], []
        self.peer_markers: list[str] = []
        self.peer_receipts: list[str] = []
        if plan.peers is not None:
            spec = plan.peers.model_dump(mode="json", exclude_defaults=True)
            self.peers_spec = canonical(spec)
            folder = f"{self.study}/peers/{plan.peers_fingerprint}"
            self.peers_manifest = [f"{folder}/manifest.json"]
            self.peers = [f"{self.study}/claims/peers.parquet"]
            self.peer_markers = self._markers(plan.peers.session.arm, plan.peers.clients)
            self.peer_receipts = self._receipts(plan.peers.session)

        code = code_fingerprint((root / "scripts/specdock/checks").rglob("*.py"), root)
        self.checks = [
            f"results/checks/{plan.name}/{name}.{fingerprint([self._arm(name), code])}.json"
            for name in plan.arms
        ]

    def _arm(self, name: str) -> dict:
        return self.plan.arms[name].model_dump(mode="json", exclude_defaults=True)

    def _raw(self, session: Session) -> str:
        arm, seed, fp = session.key
        return f"{self.study}/raw/{arm}/seed-{seed}/{fp}"

    def _spec(self, session: Session) -> str:
        arm, seed, fp = session.key
        return f"{self.study}/specs/{arm}/seed-{seed}.{fp}.json"

    def _grades(self, session: Session, code: str) -> str:
        arm, seed, fp = session.key
        graders = fingerprint([code, [cell.scenario.grade for cell in session.spec.cells]])
        folder = f"{self.study}/grades/{arm}/seed-{seed}"
        if self.plan.study.archived:
            kept = sorted((self._root / folder).glob(f"{fp}.*.parquet"))
            graders = kept[-1].suffixes[0].lstrip(".") if kept else graders
        return f"{folder}/{fp}.{graders}.parquet"

    def code(self, verb: str) -> list[str]:
        """scripts/<verb>.py and the modules it stands on."""
        return modules_of(self._root / f"scripts/{verb}.py", self._root)

    def session(self, wildcards: Wildcards) -> Session:
        """The session of a job."""
        return self.plan.by_key[wildcards.arm, int(wildcards.seed), wildcards.fp]

    def spec(self, wildcards: Wildcards) -> str:
        """The resolved spec of a session as canonical JSON: a parameter that triggers exactly."""
        return canonical(
            self.session(wildcards).spec.model_dump(mode="json", exclude_defaults=True)
        )

    def arm(self, wildcards: Wildcards) -> str:
        """A resolved arm as canonical JSON."""
        return canonical(self._arm(wildcards.arm))

    def priority(self, wildcards: Wildcards) -> int:
        """Earlier places of the campaign's seeded order run first."""
        return len(self.plan.sessions) - self.session(wildcards).spec.order

    def before_measuring(self, wildcards: Wildcards) -> int:
        """What sessions wait for comes before any of them: a session that is ready early would else
        run out of its place."""
        return len(self.plan.sessions) + 1

    def receipts(self, wildcards: Wildcards) -> list[str]:
        """Receipts of the bytes that a session serves and asks with."""
        return self._receipts(self.session(wildcards).spec)

    def _receipts(self, spec: SessionSpec) -> list[str]:
        pinned = [p for p in (spec.arm.target, spec.arm.drafter) if p]
        pins = [f"{p.name}.{p.pin}" for p in pinned]
        pins += [f"{c.scenario.workload}.{c.scenario.data_set_pin}" for c in spec.cells]
        return [f"results/pins/{pin}.receipt.json" for pin in dict.fromkeys(pins)]

    def markers(self, wildcards: Wildcards) -> list[str]:
        """Markers of the environments of a session: its engine's, and those of clients not ours."""
        spec = self.session(wildcards).spec
        generators = [cell.scenario.load_generator for cell in spec.cells]
        names = [bfcl_environment(cell.scenario) for cell in spec.cells if cell.scenario.bfcl]
        bfcl = [f"results/environments/{name}.json" for name in names]
        engine = self._markers(spec.arm, [client for client in generators if client])
        return list(dict.fromkeys([*engine, *bfcl]))

    def _markers(self, arm: ArmSpec, clients: list[ClientSpec]) -> list[str]:
        names = [(arm.engine_name, arm.environment), *((c.name, c.environment) for c in clients)]
        return [f"results/environments/{name}.{fp}.json" for name, fp in dict.fromkeys(names)]

    def commit(self, wildcards: Wildcards) -> str:
        """At which commit a pin is taken, as far as config knows; empty if it has none."""
        source = self.plan.pins[wildcards.pin].source
        if isinstance(source, PendingSource):
            return f"at the one commit that starts with {source.short_commit}, asked of the hub"
        return f"at {source.revision}" if isinstance(source, HubSource) else ""

    def bases(self, wildcards: Wildcards) -> list[str]:
        """Receipts of what a derived checkpoint is made of."""
        derive = getattr(self.plan.pins[wildcards.pin], "derive", None)
        if derive is None:
            return []
        return [f"results/pins/{derive.base}.{pin_fingerprint(derive.checkpoint)}.receipt.json"]

    def environment(self, wildcards: Wildcards) -> str:
        """The environment block of an entry, as canonical JSON."""
        return canonical(
            self.plan.environments[wildcards.engine].environment.model_dump(mode="json")
        )

    def locks(self, wildcards: Wildcards) -> list[str]:
        """The locks that decide what an environment holds."""
        return list(self.plan.environments[wildcards.engine].environment.locks)
