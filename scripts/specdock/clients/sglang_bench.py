"""SGLang's own client, `sglang.benchmark.serving`. It asks any chat server, not SGLang's alone.

Its export has no moment of sending; that is in what it prints of each request, as Unix time, which
it does for SGLang's own server only.
"""

import hashlib
import itertools
import json
import re
from pathlib import Path

from specdock.clients.contract import (
    LOG,
    ClientFailed,
    Figures,
    Generated,
    Load,
    figures_of_serving,
    read_lines,
    write_lines,
)
from specdock.engines.contract import SERVED_NAME, as_arguments
from specdock.plan.fingerprint import canonical
from specdock.runs.requests import RequestRow

_EXPORT = "bench.jsonl"
_START = re.compile(r"rid=(\S+) time=([\d.]+) message=\"request start\".*'seed': (\d+)")
_END = re.compile(r'rid=(\S+) time=([\d.]+) .*message="request end"')


class SGLangBench:
    """Sends bodies whole (its data set `openai`), but for the cap's name: max_completion_tokens."""

    exports = (_EXPORT,)

    def command(self, python: Path, load: Load, folder: Path) -> list[str]:
        """No warm-up or flush of its own."""
        prompts = folder / "bodies.jsonl"
        write_lines(prompts, load.bodies)
        own = load.engine == "sglang"
        flags = {
            "--backend": "sglang-oai-chat" if own else "vllm-chat",
            "--print-requests": own,
            "--base-url": load.base_url,
            "--model": str(load.tokenizer),
            "--served-model-name": SERVED_NAME,
            "--dataset-name": "openai",
            "--dataset-path": str(prompts),
            "--num-prompts": len(load.bodies),
            "--max-concurrency": load.streams,
            "--warmup-requests": 0,
            "--disable-tqdm": True,
            "--output-file": str(folder / _EXPORT),
            "--output-details": True,
        }
        module = [str(python), "-m", "sglang.benchmark.serving"]
        return [*module, *as_arguments(flags | load.flags)]

    def figures(self, folder: Path) -> Figures:
        """From the line that it appends to its result file."""
        return figures_of_serving(_told(folder))

    def rows(self, folder: Path, load: Load) -> Generated:
        """One row a request, in the order of sending; finish reasons and token ids are not told."""
        told, moments = _told(folder), _moments(folder / LOG)
        seeds = [str(json.loads(body)["seed"]) for body in load.bodies]
        if missing := [seed for seed in seeds if seed not in moments]:
            raise ClientFailed(f"{folder / LOG}: SGLang's client printed no seed {missing[0]}")
        order = sorted(range(len(seeds)), key=lambda place: moments[seeds[place]])
        zero = moments[seeds[order[0]]][0]
        rows = [
            _row(number, place, told, moments[seeds[place]], zero, load)
            for number, place in enumerate(order)
        ]
        return Generated(rows, zero)


def _told(folder: Path) -> dict:
    lines = list(read_lines(folder / _EXPORT))
    if len(lines) != 1:
        raise ClientFailed(f"{folder / _EXPORT}: {len(lines)} runs, not one")
    return lines[0]


def _moments(log: Path) -> dict[str, tuple[float, float]]:
    """Unix times of start and end, by the sampling seed, which is a prompt's own."""
    text = log.read_text(encoding="utf-8")
    ends = {request: float(moment) for request, moment in _END.findall(text)}
    return {
        seed: (float(moment), ends[request])
        for request, moment, seed in _START.findall(text)
        if request in ends
    }


def _row(
    number: int, place: int, told: dict, moment: tuple[float, float], zero: float, load: Load
) -> RequestRow:
    prompt, error = load.prompts[place], told["errors"][place] or None
    start, end = (at - zero for at in moment)
    waits = [told["ttfts"][place], *told["itls"][place]]
    times = [] if error else [start + passed for passed in itertools.accumulate(waits)]
    return RequestRow(
        phase="measured",
        request=number,
        stream=None,
        prompt_id=prompt.prompt_id,
        category=prompt.category,
        body=_sent(load.bodies[place]),
        prompt_sha256=hashlib.sha256(canonical(prompt.messages).encode()).hexdigest(),
        prompt_hash_of="messages",
        t_enqueue=None,
        t_end=end,
        t_send=start,
        t_first=times[0] if times else None,
        t_last=times[-1] if times else None,
        chunk_times=times,
        chunk_tokens=[-1] * len(times),
        text=told["generated_texts"][place],
        prompt_tokens=told["input_lens"][place],
        completion_tokens=None if error else told["output_lens"][place],
        error=error,
    )


def _sent(body: bytes) -> str:
    """The body with the cap under the name that this client gives it."""
    fields = json.loads(body)
    fields["max_completion_tokens"] = fields.pop("max_tokens")
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
