"""vLLM 0.27.1 to 0.33.0: the OpenAI-style server, on CUDA and on the CPU builds."""

import json

from specdock.engines.contract import SERVED_NAME, Placed
from specdock.plan.models import Serve
from specdock.plan.spec import ArmSpec, ScenarioSpec
from specdock.plan.values import schedule_ranges

_GRAPH_MODES = {
    "full": "FULL",
    "piecewise": "PIECEWISE",
    "full-and-piecewise": "FULL_AND_PIECEWISE",
}


class VLLM:
    """Speaks to `vllm serve`; the CPU builds differ by data and by how KV memory is given."""

    health = "/health"
    metrics = "/metrics"
    identity = ("/version", "/v1/models", "/server_info?config_format=json")
    reset = ("/reset_prefix_cache",)

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """`vllm serve` with the arm's flags, the engine's flags and the arm's verbatim flags."""
        flags: dict[str, object] = {
            "--served-model-name": SERVED_NAME,
            "--host": "127.0.0.1",
            "--port": port,
            **arm.engine.flags,
            **_serve_flags(arm.serve, arm.engine.device),
        }
        if (speculation := _speculation(arm, placed)) is not None:
            flags["--speculative-config"] = json.dumps(speculation)
            if arm.engine.per_request_steps:
                flags["--per-request-spec-decode-metrics"] = "detailed"
        flags |= arm.serve.flags
        module = [str(placed.python), "-m", "vllm.entrypoints.openai.api_server"]
        return [*module, "--model", str(placed.target), *_as_arguments(flags)]

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """The engine's and the arm's variables; compiled kernels are kept per environment."""
        variables = {**arm.engine.variables, "VLLM_CACHE_ROOT": str(placed.cache / "vllm")}
        if arm.engine.device == "cpu" and arm.serve.kv_cache_gib is not None:
            # The CPU builds take whole GiB, and reserve nearly all memory when not told.
            variables["VLLM_CPU_KVCACHE_SPACE"] = str(round(arm.serve.kv_cache_gib))
        return variables | arm.variables

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """Chat completion fields; thinking and effort are both sent, since effort alone
        would switch thinking on."""
        sampling = scenario.sampling
        body: dict[str, object] = {
            "model": SERVED_NAME,
            "max_tokens": scenario.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "min_p": sampling.min_p,
            "repetition_penalty": sampling.repetition_penalty,
            "ignore_eos": scenario.fixed_length,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_token_ids": True,
        }
        if scenario.thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": scenario.thinking}
        if scenario.effort is not None:
            body["reasoning_effort"] = scenario.effort
        return body


def _serve_flags(serve: Serve, device: str) -> dict[str, object]:
    flags: dict[str, object] = {
        "--gpu-memory-utilization": serve.memory_utilization,
        "--max-num-seqs": serve.request_slots,
        "--max-model-len": serve.context_tokens,
        "--max-num-batched-tokens": serve.batch_tokens,
        "--dtype": serve.dtype,
        "--kv-cache-dtype": serve.kv_cache_dtype,
    }
    if device == "cuda" and serve.kv_cache_gib is not None:
        flags["--kv-cache-memory-bytes"] = int(serve.kv_cache_gib * 2**30)
    if serve.graphs == "none":
        flags["--enforce-eager"] = True
    elif serve.graphs is not None:
        flags["--compilation-config"] = json.dumps({"cudagraph_mode": _GRAPH_MODES[serve.graphs]})
    flags["--enable-prefix-caching" if serve.prefix_caching else "--no-enable-prefix-caching"] = (
        True
    )
    return {flag: value for flag, value in flags.items() if value is not None}


def _speculation(arm: ArmSpec, placed: Placed) -> dict | None:
    wanted = arm.speculation
    if wanted.method == "none":
        return None
    config: dict[str, object] = {
        "method": arm.engine.speculation[wanted.method].spelled,
        "num_speculative_tokens": wanted.draft_tokens,
        "model": str(placed.drafter) if placed.drafter else None,
        "quantization": wanted.drafter_quantization,
        "prompt_lookup_min": wanted.prompt_lookup_min,
        "prompt_lookup_max": wanted.prompt_lookup_max,
        "draft_sample_method": wanted.draft_sampling,
    }
    if wanted.schedule is not None:
        config["num_speculative_tokens_per_batch_size"] = [
            list(step) for step in schedule_ranges(wanted.schedule)
        ]
    if wanted.imposed_acceptance_length is not None:
        config["rejection_sample_method"] = "synthetic"
        config["synthetic_acceptance_length"] = wanted.imposed_acceptance_length
    return {key: value for key, value in config.items() if value is not None}


def _as_arguments(flags: dict[str, object]) -> list[str]:
    """True is a bare flag, false leaves the flag out, anything else follows its flag."""
    arguments: list[str] = []
    for flag, value in flags.items():
        if value is True:
            arguments.append(flag)
        elif value is not False and value is not None:
            arguments += [flag, str(value)]
    return arguments
