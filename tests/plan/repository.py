"""A small repository with its own catalogues and one study, for tests of the plan."""

from pathlib import Path

ENGINES = """
base:
  abstract: true
  adapter: vllm
  device: cpu
  serve: {request_slots: --max-num-seqs, graphs: {none: {--enforce-eager: true}}}
  speculation:
    ngram: {spelled: ngram, keys: [prompt_lookup_max]}
    dflash: {spelled: dflash, keys: [schedule], needs_drafter: true}
old:
  extends: base
  version: "1.0"
  environment: {kind: venv, lock: envs/old.lock}
new:
  extends: base
  version: "2.0"
  environment: {kind: venv, lock: envs/new.lock}
"""

MODELS = """
big:
  description: target
  licence: MIT
  source: {repository: some/big, revision: "1111111111111111111111111111111111111111", files: ["*"]}
small:
  description: drafter
  licence: MIT
  source:
    repository: some/small
    revision: "2222222222222222222222222222222222222222"
    files: ["*"]
"""

DATA_SETS = """
essays:
  description: prompts
  licence: MIT
  source: {path: essays.yaml}
  reader: {format: yaml}
sums:
  description: sums
  licence: MIT
  source: {path: sums.yaml}
  reader: {format: yaml}
novel:
  description: prose
  licence: MIT
  source: {path: novel.txt}
  reader: {format: text, prompt: "{text}"}
"""

STUDY = """
title: A title
question: A question?
hardware: here
seeds: [1, 2]
defaults:
  target: big
  engine: new
  serve: {request_slots: 8}
arms:
  plain: {}
  ngram:
    speculation: {method: ngram, draft_tokens: 5}
  ngram-old:
    extends: ngram
    engine: old
scenarios:
  - {workload: essays, streams: [1, 4], requests: 4, max_tokens: 32}
  - {workload: sums, streams: 1, requests: 4, max_tokens: 32, grade: exact-match}
roles: {reference: plain, candidate: ngram}
"""


def write_repository(root: Path, study: str = STUDY) -> Path:
    """Writes catalogues, locks, code and one study called `tiny`; returns the root."""
    files = {
        "config/engines.yaml": ENGINES,
        "config/models.yaml": MODELS,
        "config/datasets.yaml": DATA_SETS,
        "config/studies/tiny.yaml": study,
        "envs/old.lock": "package==1.0 --hash=sha256:00\n",
        "envs/new.lock": "package==2.0 --hash=sha256:00\n",
        "scripts/specdock/runs/client.py": "WAIT = 1\n",
        "scripts/specdock/engines/vllm.py": "PORT = 1\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
