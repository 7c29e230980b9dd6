"""vLLM 0.27.1 to 0.33.0: the OpenAI-style server, on CUDA and on the CPU builds."""

import json

from specdock.engines.contract import SERVED_NAME, Placed, as_arguments, chat_body, served_as
from specdock.plan.spec import ArmSpec, ScenarioSpec
from specdock.plan.values import schedule_ranges


class VLLM:
    """Speaks to vLLM's API server.

    It is started as a module, which every version here has; the `vllm` command dies in the CPU
    builds for want of a distribution of that name.
    """

    health = "/health"
    metrics = "/metrics"
    identity = ("/version", "/v1/models", "/server_info?config_format=json")
    reset = ("/reset_prefix_cache",)

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """The API server with the engine's flags, the arm's, and the arm's verbatim ones last."""
        flags = {
            "--model": str(placed.target),
            "--served-model-name": SERVED_NAME,
            "--host": placed.host,
            "--port": port,
            **arm.engine.flags,
            **_serve_flags(arm),
        }
        if (speculation := _speculation(arm, placed)) is not None:
            flags["--speculative-config"] = json.dumps(speculation)
            if arm.engine.per_request_steps:
                flags["--per-request-spec-decode-metrics"] = "detailed"
        module = [str(placed.python), "-m", "vllm.entrypoints.openai.api_server"]
        return [*module, *as_arguments(flags | arm.serve.flags)]

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """The engine's and the arm's variables; compiled kernels are kept per environment.

        Left alone, vLLM keeps Triton's kernels with each compiled graph, and every arm compiles
        those of the target anew.
        """
        caches = {
            "VLLM_CACHE_ROOT": str(placed.cache / "vllm"),
            "TRITON_CACHE_DIR": str(placed.cache / "triton"),
        }
        # The CPU builds take whole GiB, and reserve nearly all memory when not told.
        asked = {
            name: str(round(value))
            for name, value in served_as(arm).items()
            if not name.startswith("--")
        }
        return arm.engine.variables | caches | asked | arm.variables

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """Chat completion fields; token ids tell how many tokens a chunk carries."""
        return chat_body(scenario) | {
            "repetition_penalty": scenario.sampling.repetition_penalty,
            "return_token_ids": True,
        }


def _serve_flags(arm: ArmSpec) -> dict[str, object]:
    flags = {flag: value for flag, value in served_as(arm).items() if flag.startswith("--")}
    if (pool := "--kv-cache-memory-bytes") in flags:
        flags[pool] = int(flags[pool] * 2**30)
    return flags


def _speculation(arm: ArmSpec, placed: Placed) -> dict | None:
    wanted = arm.speculation
    if wanted.method == "none":
        return None
    schedule = wanted.schedule and [list(step) for step in schedule_ranges(wanted.schedule)]
    config = {
        "method": arm.engine.speculation[wanted.method].spelled,
        "num_speculative_tokens": wanted.draft_tokens,
        "model": str(placed.drafter) if placed.drafter else None,
        "quantization": wanted.drafter_quantization,
        "prompt_lookup_min": wanted.prompt_lookup_min,
        "prompt_lookup_max": wanted.prompt_lookup_max,
        "draft_sample_method": wanted.draft_sampling,
        "num_speculative_tokens_per_batch_size": schedule,
        "rejection_sample_method": "synthetic" if wanted.imposed else None,
        "synthetic_acceptance_length": wanted.imposed_acceptance_length,
        "synthetic_acceptance_rates": wanted.imposed_acceptance_rates,
    }
    return {key: value for key, value in config.items() if value is not None}
