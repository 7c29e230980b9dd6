"""A cross-check of invented answers: rounds of all clients, as `measure_peers` leaves them."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from specdock.peers import OURS
from specdock.plan.fingerprint import canonical, sha256_of
from specdock.plan.spec import PeersSpec
from specdock.runs.requests import RequestRow, as_table
from specdock.workloads.prompts import Prompt
from tests.clients.exports import EXPORTS

# Beside ours: AIPerf as ours, vLLM's later to the first token, SGLang's slower as a whole.
SLOWER = {"aiperf": (1.0, 1.0), "vllm-bench": (1.3, 1.0), "sglang-bench": (1.0, 1.2)}


def write_cross_check(spec: PeersSpec, prompts: list[Prompt], folder: Path) -> None:
    """Writes raw rows, exports and manifest of every round."""
    scenario = spec.session.cells[0].scenario
    asked = prompts[: scenario.requests]
    for turn in range(1, spec.rounds + 1):
        rng = np.random.default_rng(turn)
        place = folder / f"round-{turn}"
        (place / OURS).mkdir(parents=True)
        rows = _answers(asked, scenario.streams, 1.0, 1.0, rng)
        columns = {"cell": spec.session.cells[0].fingerprint, "arm": spec.session.arm.name}
        columns |= {"scenario": scenario.id, "seed": spec.session.seed, "session": "once"}
        table = as_table([RequestRow(**row) for row in rows], **columns)
        pq.write_table(table, place / OURS / "requests.parquet")
        for client in spec.clients:
            (place / client.name).mkdir()
            wait, pace = SLOWER[client.client.adapter]
            rows = _answers(asked, scenario.streams, wait, pace, rng)
            EXPORTS[client.client.adapter](rows, place / client.name)
    kept = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        "study": spec.session.study,
        "spec": spec.model_dump(mode="json", exclude_defaults=True),
        "files": {path.relative_to(folder).as_posix(): sha256_of(path) for path in kept},
        "session": {"session": "once"},
        "runs": [],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def _answers(
    prompts: list[Prompt], streams: int, wait: float, pace: float, rng: np.random.Generator
) -> list[dict]:
    """Rows in the order of sending; decoding takes 20 ms a token, the first 50 ms, a bit more."""
    free, rows = [0.0] * streams, []
    for number, prompt in enumerate(prompts):
        stream = free.index(min(free))
        start, tokens = free[stream], 20 + number
        first = start + 0.05 * wait * (1 + 0.01 * rng.random())
        step = 0.02 * pace * (1 + 0.01 * rng.random())
        times = [first + step * place for place in range(tokens)]
        end = free[stream] = times[-1] + 0.001
        rows.append(
            {
                "phase": "measured",
                "request": number,
                "stream": stream,
                "prompt_id": prompt.prompt_id,
                "category": None,
                "body": json.dumps({"messages": prompt.messages, "seed": number}),
                "prompt_sha256": sha256(canonical(prompt.messages).encode()).hexdigest(),
                "prompt_hash_of": "messages",
                "t_enqueue": start,
                "t_send": start,
                "t_first": times[0],
                "t_last": times[-1],
                "t_end": end,
                "chunk_times": times,
                "chunk_tokens": [1] * tokens,
                "text": " ".join(f"w{place}" for place in range(tokens)),
                "token_ids": list(range(1000, 1000 + tokens)),
                "finish_reason": "length",
                "prompt_tokens": 9,
                "completion_tokens": tokens,
                "status": 200,
            }
        )
    return rows
