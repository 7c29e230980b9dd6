"""Exports a finished study as a Workflow Run RO-Crate, profile Provenance Run Crate 0.5.

What ran is taken from the study's own files (manifests, pins, markers, seal), since a clone has no
`.snakemake`. Every file carries its sha256 and size, and every printed number is an entity that
leads to the files it was made from. Context, terms: w3id.org/ro/wfrun/provenance/0.5.
"""

import json
import mimetypes
import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from specdock.article.rules import Rule, Rulebook, RuleUnknown
from specdock.audit.printed import PrintedNumbers, Row
from specdock.errors import SpecdockError
from specdock.plan.fingerprint import sha256_of
from specdock.plan.load import read_yaml

# The workflow itself, beside what the seal lists.
WORKFLOW = ("Snakefile", "rules/*.smk", "scripts/**/*.py", "article/**/*", "config/**/*")
ABOUT = ("README.md", "LICENSE", "CITATION.cff")
# Rules of one job a study; of the others there is one a session, a pin or an environment.
ONE_JOB = ("tables", "claims", "measure_peers", "compare_peers", "render", "seal", "study")
PROFILES = {"process": "Process", "workflow": "Workflow", "provenance": "Provenance"}
FORMATS = {
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".yaml": "application/yaml",
}
COMPLETED = {"@id": "http://schema.org/CompletedActionStatus"}
SNAKEMAKE = "https://snakemake.github.io"
_SESSION = re.compile(r"/(?:raw|grades|specs)/(?P<arm>[^/]+)/seed-(?P<seed>\d+)[/.](?P<fp>\w{16})")


def export_crate(study: PrintedNumbers, out: Path) -> None:
    """Writes the crate's folder: metadata and a copy of every file that it describes.

    A file that changed since it was sealed gets the hash that it has now, so verify first. Raises
    `SpecdockError` if the study is not sealed, or if nothing of it was measured.
    """
    crate = _Crate(study)
    crate.describe()
    crate.ro.write(out)


class _Crate:
    def __init__(self, study: PrintedNumbers):
        self.study, self.root = study, study.root
        self.ro = ROCrate(version="1.1")
        self.ro.metadata.extra_contexts.append("https://w3id.org/ro/terms/workflow-run/context")
        seal = study.folder / "seal.json"
        if not seal.is_file() or not study.sessions:
            why = "nothing was measured" if seal.is_file() else "it is not sealed"
            raise SpecdockError(
                f"{self._shown}: {why}\n"
                f"  run `snakemake --cores 1 article --config study={study.folder.name}` first"
            )
        sealed = json.loads(seal.read_text(encoding="utf-8"))["files"]
        self.results = [*sealed, f"{self._shown}/seal.json"]
        self.files: dict[str, Entity] = {}
        self.rulebook = Rulebook(self.root)

    def describe(self) -> None:
        """Fills the crate, from what it is down to its numbers."""
        self._root_dataset()
        for name in dict.fromkeys([*self.results, *self._workflow_files()]):
            self._file(name)
        workflow = self._workflow()
        jobs = self._jobs()
        run = self._run(workflow, jobs)
        numbers = [self._number(number) for number in self.study.numbers]
        self.ro.root_dataset["variableMeasured"] = numbers
        self.ro.root_dataset["mentions"] = [*run, *jobs]
        self.files[f"{self._shown}/article/article.html"]["mentions"] = numbers

    @property
    def _shown(self) -> str:
        return self.study.folder.relative_to(self.root).as_posix()

    @property
    def _commit(self) -> str:
        """Commit that rendered the study."""
        return self.study.numbers[0]["commit"] or "not in git"

    def _add(self, entity: str, kind: str | list[str], /, **properties: object) -> Entity:
        """A contextual entity, made once."""
        known = self.ro.get(entity)
        if known is not None:
            return known
        stated = {key: value for key, value in properties.items() if value not in (None, [])}
        # The profile wants a list of one unpacked.
        single = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in stated.items()}
        return self.ro.add(ContextEntity(self.ro, entity, {"@type": kind} | single))

    # What it is

    def _root_dataset(self) -> None:
        plan, cited = self.study.plan, read_yaml(self.root / "CITATION.cff", "CITATION.cff")
        licence = self._licence(cited["license"])
        names = [author["name"] for author in cited["authors"]]
        self.authors = [self._add(f"#{quote(n)}", "Organization", name=n) for n in names]
        root = self.ro.root_dataset
        root["name"], root["description"] = plan["title"], plan["question"]
        root["license"], root["author"], root["publisher"] = (
            licence,
            self.authors[0],
            self.authors[0],
        )
        root["datePublished"] = _iso(max(self._ends.values()))
        profiles = [
            self._add(
                f"https://w3id.org/ro/wfrun/{key}/0.5",
                "CreativeWork",
                name=f"{name} Run Crate",
                version="0.5",
            )
            for key, name in PROFILES.items()
        ]
        workflow = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
        profiles.append(
            self._add(workflow, "CreativeWork", name="Workflow RO-Crate", version="1.0")
        )
        root["conformsTo"] = profiles
        self.ro.metadata["conformsTo"] = [{"@id": self.ro.metadata.profile}, {"@id": workflow}]

    def _licence(self, spdx: str) -> Entity:
        return self._add(f"https://spdx.org/licenses/{spdx}", "CreativeWork", name=spdx)

    def _workflow_files(self) -> list[str]:
        paths = {p for pattern in (*WORKFLOW, *ABOUT) for p in self.root.glob(pattern)}
        files = [p for p in paths if p.is_file() and "__pycache__" not in p.parts]
        names = [path.relative_to(self.root).as_posix() for path in sorted(files)]
        return [*names, *sorted(self._locks)]

    @cached_property
    def _locks(self) -> set[str]:
        environments = [arm["engine"]["environment"] for arm in self.study.plan["arms"].values()]
        stated = {e[key] for e in environments for key in ("lock", "fallback") if e.get(key)}
        return {name for name in stated if (self.root / name).is_file()}

    def _file(self, name: str) -> Entity:
        path = self.root / name
        known = FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0] or "text/plain"
        properties = {
            "name": name,
            "contentSize": str(path.stat().st_size),
            "sha256": sha256_of(path),
            "encodingFormat": known,
        }
        if name == "Snakefile":
            kinds = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
            properties["@type"] = kinds
        self.files[name] = self.ro.add_file(path, name, properties=properties)
        return self.files[name]

    # What was run

    def _workflow(self) -> Entity:
        snakefile = self.files["Snakefile"]
        language = self._add(
            "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
            "ComputerLanguage",
            name="Snakemake",
            identifier={"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
            url={"@id": SNAKEMAKE},
            version=version("snakemake"),
        )
        self.ro.mainEntity = snakefile
        snakefile["name"] = "specdock"
        snakefile["programmingLanguage"] = language
        snakefile["license"] = self.ro.root_dataset["license"]
        snakefile["author"] = self.authors[0]
        snakefile["version"] = self._commit
        self.files["README.md"]["about"] = self.ro.root_dataset
        snakefile["conformsTo"] = {
            "@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
        }
        return snakefile

    def _tool(self, name: str, stands_in: str) -> Entity:
        """A rule as the tool that its jobs ran, and the step of the workflow that calls it."""
        tool = self.ro.get(f"#rule-{name}")
        if tool is None:
            place = f"{stands_in}#rule-{name}"
            tool = self._add(
                f"#rule-{name}",
                "SoftwareApplication",
                name=name,
                description=f"rule {name} of {stands_in}",
                softwareVersion=self._commit,
                url={"@id": SNAKEMAKE},
                isPartOf=self.files[stands_in],
            )
            workflow = self.files["Snakefile"]
            step = self._add(
                f"#step-{name}", "HowToStep", name=name, description=place, workExample=tool
            )
            step["position"] = str(len(workflow.get("step", [])) + 1)
            workflow.append_to("step", step)
            workflow.append_to("hasPart", tool)
        return tool

    def _jobs(self) -> list[Entity]:
        """A CreateAction for every job that made a file of the study, in the order of names."""
        made: dict[tuple[str, str], list[str]] = {}
        for name in self.results:
            rule = self._maker(name)
            session = _SESSION.search(name)
            job = "/".join(session.groups()) if session else Path(name).stem
            made.setdefault((rule.name, "" if rule.name in ONE_JOB else job), []).append(name)
        return [self._job(rule, job, outputs) for (rule, job), outputs in sorted(made.items())]

    def _maker(self, name: str) -> Rule:
        """The rule that made a file, the folder that holds it, or the pack that it belongs to."""
        above = [folder.as_posix() for folder in Path(name).parents]
        for made in (name, above[0], *(f"{folder}/manifest.json" for folder in above)):
            with suppress(RuleUnknown):
                return self.rulebook.maker(made)
        return self.rulebook.maker(name)

    def _job(self, rule: str, job: str, outputs: list[str]) -> Entity:
        name = f"{rule} {job}".strip()
        tool = self._tool(rule, self._maker(outputs[0]).file)
        action = self._add(
            f"#job/{quote(name.replace(' ', '/'))}",
            "CreateAction",
            name=name,
            instrument=tool,
            description=f"rule {rule} made {outputs[0]}"
            + (f" and {len(outputs) - 1} more" if len(outputs) > 1 else ""),
            agent=self.authors[0],
            result=[self.files[output] for output in outputs],
            object=[*map(self.files.get, self._inputs(rule, job)), *self._materials(rule, job)],
            actionStatus=COMPLETED,
        )
        if rule == "measure":
            self._describe_measurement(action, outputs)
        self._add(
            f"#control/{quote(name.replace(' ', '/'))}",
            "ControlAction",
            name=f"orchestrate {name}",
            instrument=self.ro.get(f"#step-{rule}"),
            object=action,
        )
        return action

    def _inputs(self, rule: str, job: str) -> list[str]:
        """Files of the crate that a job read."""
        folder = self._shown

        def under(*parts: str) -> list[str]:
            return [name for name in self.results if name.startswith(tuple(parts))]

        arm, _, session = job.partition("/")
        seed, _, fp = session.partition("/")
        spec = under(f"{folder}/specs/{arm}/seed-{seed}.{fp}")
        own = f"{folder}/raw/{arm}/seed-{seed}/{fp}"
        tables, claims = under(f"{folder}/tables/"), under(f"{folder}/claims/")
        manifests = [name for name in under(f"{folder}/raw/") if name.endswith("manifest.json")]
        config = [name for name in self.files if name.startswith("config/")]
        return {
            "resolve": config,
            "study": config,
            "environment_marker": sorted(self._locks),
            "pin": config,
            "fetch": under(f"results/pins/{job.removesuffix('.receipt')}.lock"),
            "measure": [*spec, *under("results/environments/", "results/pins/")],
            "measure_peers": under("results/environments/", "results/pins/"),
            "compare_peers": [f"{folder}/plan.json", *under(f"{folder}/peers/")],
            "grade": [*spec, f"{own}/requests.parquet"],
            "tables": under(*(f"{folder}/{part}/" for part in ("raw", "specs", "grades"))),
            "claims": [f"{folder}/plan.json", *tables],
            "render": [f"{folder}/plan.json", *tables, *claims, *manifests],
            "seal": [name for name in self.results if not name.endswith("/seal.json")],
        }.get(rule, [])

    def _materials(self, rule: str, job: str) -> list[Entity]:
        """The engine, the checkpoints and the data sets that a measuring job used."""
        if rule != "measure":
            return []
        spec = self._manifest(job)["spec"]
        arm = spec["arm"]
        pinned = [(p["name"], p["pin"], p["checkpoint"]) for p in _weights(arm)]
        for cell in spec["cells"]:
            scenario = cell["scenario"]
            pinned.append((scenario["workload"], scenario["data_set_pin"], scenario["data_set"]))
        return list(
            {e.id: e for e in (*(self._pin(*p) for p in pinned), self._engine(arm))}.values()
        )

    def _manifest(self, job: str) -> dict:
        arm, seed, fp = job.split("/")
        path = self.study.folder / f"raw/{arm}/seed-{seed}/{fp}/manifest.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def _pin(self, name: str, pin: str, entry: Row) -> Entity:
        """A checkpoint or a data set: licence, where from, at which commit or hash."""
        source = entry["source"]
        if "repository" in source:
            where = f"pkg:huggingface/{source['repository']}@{source['revision']}"
        elif "package" in source:
            where = f"pkg:pypi/{source['package'].replace('==', '@')}"
        else:
            where = source.get("path") or source["folder"]
        names = [f"results/pins/{name}.{pin}.{kind}.json" for kind in ("lock", "receipt")]
        return self._add(
            f"#pin/{name}.{pin}",
            "CreativeWork",
            name=name,
            description=entry["description"],
            license=self._licence(entry["licence"]),
            identifier=where,
            version=source.get("revision") or source.get("wheel_sha256") or pin,
            isBasedOn=[self.files[name] for name in names if name in self.files],
        )

    def _engine(self, arm: Row) -> Entity:
        name, engine = arm["engine_name"], arm["engine"]
        starts = [s for s in self.study.sessions.values() if s["engine"] == name]
        stated = {start["engine_version"] for start in starts} - {None}
        lock = engine["environment"].get("lock")
        return self._add(
            f"#engine/{name}",
            ["SoftwareApplication", "CreativeWork"],
            name=name,
            description=engine.get("note") or f"{engine['adapter']} {engine['version']}",
            softwareVersion=", ".join(sorted(stated)) or engine["version"],
            softwareRequirements=self.files.get(lock),
        )

    def _describe_measurement(self, action: Entity, outputs: list[str]) -> None:
        manifest = next(name for name in outputs if name.endswith("manifest.json"))
        starts = json.loads((self.root / manifest).read_text(encoding="utf-8"))["sessions"]
        started = min(datetime.fromisoformat(start["started_at"]) for start in starts)
        action["startTime"], action["endTime"] = _iso(started), _iso(self._ends[manifest])
        action["description"] = "; ".join(shlex.join(start["argv"]) for start in starts)

    @cached_property
    def _ends(self) -> dict[str, datetime]:
        """By manifest: when its last measured window closed."""
        ends = {}
        for name in self.results:
            if "/raw/" in name and name.endswith("/manifest.json"):
                cells = json.loads((self.root / name).read_text(encoding="utf-8"))["cells"]
                ends[name] = max(
                    datetime.fromisoformat(c["window_start"]) + timedelta(seconds=c["wall"])
                    for c in cells
                )
        return ends

    def _run(self, workflow: Entity, jobs: Iterable[Entity]) -> list[Entity]:
        """The run as a whole, and the engine that organised its jobs."""
        study = self.study.folder.name
        inputs = [f"config/studies/{study}.yaml", *sorted(self._locks)]
        results = [f"{self._shown}/article/{name}" for name in ("article.html", "numbers.json")]
        for key, names in (("input", inputs), ("output", results)):
            for name in names:
                parameter = self._add(
                    f"#parameter/{name}",
                    "FormalParameter",
                    name=name.replace("/", "_"),
                    additionalType="File",
                    conformsTo={
                        "@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
                    },
                )
                self.files[name]["exampleOfWork"] = parameter
                workflow.append_to(key, parameter)
        times = [job.get("startTime") for job in jobs if job.get("startTime")]
        span = {"startTime": min(times), "endTime": _iso(max(self._ends.values()))}
        run = self._add(
            "#run",
            "CreateAction",
            name=f"snakemake article --config study={study}",
            description="from config to the sealed article",
            instrument=workflow,
            agent=self.authors[0],
            object=[self.files[name] for name in inputs],
            result=[self.files[name] for name in results],
            actionStatus=COMPLETED,
            **span,
        )
        engine = self._add(
            "#snakemake",
            "SoftwareApplication",
            name="Snakemake",
            softwareVersion=version("snakemake"),
            url={"@id": SNAKEMAKE},
        )
        controls = [entity for entity in self.ro.contextual_entities if "#control/" in entity.id]
        organised = self._add(
            "#organised",
            "OrganizeAction",
            name="Snakemake runs the workflow",
            description="the order of jobs, from the rules' inputs and outputs",
            instrument=engine,
            agent=self.authors[0],
            object=controls,
            result=run,
            **span,
        )
        return [run, organised]

    # What was found

    def _number(self, number: Row) -> Entity:
        links = (number["source"], *number["tables"], *number["raw"])
        value = number["printed"] if number["value"] is None else number["value"]
        return self._add(
            f"#number/{quote(number['id'], safe='/@:=+')}",
            ["PropertyValue", "CreativeWork"],
            name=number["title"],
            description=f"printed as {number['printed']!r}",
            identifier=number["id"],
            value=value,
            minValue=number["low"],
            maxValue=number["high"],
            unitText=number["unit"] or None,
            propertyID=number["definition"] or None,
            measurementTechnique=number["method"] or None,
            isPartOf=self.files[f"{self._shown}/article/article.html"],
            isBasedOn=[self.files[link["file"]] for link in links],
        )


def _weights(arm: Row) -> list[Row]:
    return [arm[role] for role in ("target", "drafter") if arm.get(role)]


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
