"""specdock: is a second model on the card worth more than what the checkpoint already carries?"""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

sys.path.insert(0, str(Path(workflow.basedir) / "scripts"))

from specdock.errors import SpecdockError
from specdock.plan.files import Files
from specdock.plan.plan import replayed
from specdock.plan.resolve import resolve

min_version("9.27")


configfile: "config/config.yaml"


# Config is checked whole before there is a graph
# -----------------------------------------------

root = Path(workflow.basedir)
try:
    plan = resolve(root, config["study"])
    # Replay renders what is there, beside the published figures, and measures nothing.
    files = Files(replayed(plan, root) if config["replay"] else plan, root)
except SpecdockError as problem:
    raise WorkflowError(f"\n{problem}") from None

# Rules call the interpreter that runs Snakemake, also where its environment is not activated.
shell.prefix(f"set -euo pipefail; export PATH={Path(sys.executable).parent}:$PATH; ")

# One engine at a time, even where a user's own --resources replace the profile's.
workflow.global_resources.setdefault("gpu", 1)


wildcard_constraints:
    arm=r"[a-z0-9._-]+",
    seed=r"\d+",
    fp=r"[0-9a-f]{16}",
    graders=r"[0-9a-f]{16}",
    study=r"[a-z0-9._-]+",
    pin=r"[a-z0-9._-]+\.[0-9a-f]{16}",
    engine=r"[a-z0-9._-]+\.[0-9a-f]{16}",


# One file a stage, in the direction of the data
# ----------------------------------------------


include: "rules/plan.smk"
include: "rules/pins.smk"
include: "rules/environments.smk"
include: "rules/checks.smk"


# What an archive measured is a source, which nothing makes again.
if not plan.study.archived:

    include: "rules/runs.smk"


include: "rules/grades.smk"
include: "rules/tables.smk"
include: "rules/claims.smk"
include: "rules/peers.smk"
include: "rules/article.smk"
include: "rules/audit.smk"


# Every manifest is named, so that a failed rerun never leaves a stale article behind.
rule article:
    default_target: True
    input:
        files.article,
        files.manifests,
        f"{files.study}/seal.json",


# The page on paper needs a browser, so it is asked for by name.
rule pdf:
    input:
        f"{files.study}/article/article.pdf",
