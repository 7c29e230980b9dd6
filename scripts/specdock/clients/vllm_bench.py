"""The vLLM project's `vllm bench serve`. Its export lacks finish reasons and ends of requests."""

import json
from pathlib import Path

import orjson

from specdock.clients.contract import ClientFailed, Figures, Load, figures_of_serving, write_lines
from specdock.engines.contract import SERVED_NAME, as_arguments
from specdock.workloads.prompts import Prompt

_EXPORT = "bench.json"

# What `vllm bench serve` runs; the command itself dies in builds whose distribution is not `vllm`.
_PROGRAM = (
    "from vllm.benchmarks.serve import add_cli_args, main; "
    "from vllm.utils.argparse_utils import FlexibleArgumentParser as Parser; "
    "parser = Parser(); add_cli_args(parser); main(parser.parse_args())"
)
_SET_BY_IT = ("model", "messages", "stream", "stream_options", "seed")


class VLLMBench:
    """Sends prompts of one message, with our sampling fields beside; one seed for all requests."""

    exports = (_EXPORT,)

    def command(self, python: Path, load: Load, folder: Path) -> list[str]:
        """Needs the target's tokenizer: without one it reports neither rates nor waits."""
        prompts = folder / "prompts.jsonl"
        write_lines(prompts, [orjson.dumps({"prompt": _text(p)}) for p in load.prompts])
        body = json.loads(load.bodies[0])
        extra = {name: value for name, value in body.items() if name not in _SET_BY_IT}
        flags = {
            "--backend": "openai-chat",
            "--base-url": load.base_url,
            "--endpoint": "/v1/chat/completions",
            "--model": SERVED_NAME,
            "--tokenizer": str(load.tokenizer),
            "--dataset-name": "custom",
            "--dataset-path": str(prompts),
            "--disable-shuffle": True,
            "--no-oversample": True,
            "--skip-chat-template": True,
            "--custom-output-len": body["max_tokens"],
            "--num-prompts": len(load.prompts),
            "--max-concurrency": load.streams,
            "--extra-body": json.dumps(extra),
            "--ready-check-timeout-sec": 0,
            "--percentile-metrics": "ttft,tpot,itl,e2el",
            "--disable-tqdm": True,
            "--save-result": True,
            "--save-detailed": True,
            "--result-dir": str(folder),
            "--result-filename": _EXPORT,
        }
        return [str(python), "-c", _PROGRAM, *as_arguments(flags | load.flags)]

    def figures(self, folder: Path) -> Figures:
        """From its result file; failed requests count in none of its figures."""
        told = json.loads((folder / _EXPORT).read_text(encoding="utf-8"))
        if told["failed"]:
            raise ClientFailed(f"{folder / _EXPORT}: {told['failed']} requests failed")
        return figures_of_serving(told)


def _text(prompt: Prompt) -> str:
    """The prompt's one message; the server lays the chat template around it, as around ours."""
    match prompt.messages:
        case [{"role": "user", "content": str(text)}]:
            return text
    raise ClientFailed(
        f"prompt {prompt.prompt_id}: vLLM's client sends one message of the user, and this has "
        f"{len(prompt.messages)} of {', '.join(message['role'] for message in prompt.messages)}"
    )
