"""SGLang 0.5.23 and the nightlies around it: its OpenAI-style server on CUDA."""

from specdock.engines.contract import SERVED_NAME, Placed, as_arguments, chat_body, served_as
from specdock.plan.models import Flags
from specdock.plan.spec import ArmSpec, ScenarioSpec


class SGLang:
    """Speaks to `sglang.launch_server`.

    The flush before each cell empties the prefix cache and the n-gram corpus, and resets SGLang's
    own acceptance counters; it waits for requests that are still being torn down.
    """

    health = "/health"
    metrics = "/metrics"
    identity = ("/server_info", "/model_info", "/v1/models")
    reset = ("/flush_cache?timeout=20",)

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """The server with the engine's flags, the arm's, and the arm's verbatim ones last."""
        flags: Flags = {
            "--model-path": str(placed.target),
            "--served-model-name": SERVED_NAME,
            "--host": placed.host,
            "--port": port,
            **arm.engine.flags,
            **served_as(arm),
            **_speculation(arm, placed),
            **arm.serve.flags,
        }
        return [str(placed.python), "-m", "sglang.launch_server", *as_arguments(flags)]

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """The engine's and the arm's variables.

        An imposed acceptance is a variable here; its length counts the bonus token, as vLLM's does.
        """
        variables = dict(arm.engine.variables)
        if (length := arm.speculation.imposed_acceptance_length) is not None:
            variables["SGLANG_SIMULATE_ACC_LEN"] = str(length)
            # By default every imposed token is token 100.
            variables["SGLANG_SIMULATE_ACC_TOKEN_MODE"] = "real-draft-token"
        return variables | arm.variables

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """Chat completion fields; the last chunk brings the request's own drafting account.

        SGLang cannot stream token ids, so the tokens of a chunk stay unknown.
        """
        return chat_body(scenario) | {
            "repetition_penalty": scenario.sampling.repetition_penalty,
            "return_spec_tokens_details": arm.speculation.method != "none",
        }


def _speculation(arm: ArmSpec, placed: Placed) -> Flags:
    """SGLang counts the bonus token: `--speculative-num-draft-tokens` is our draft_tokens + 1.

    Only DSpark is told how many tokens it drafts. Drafts are chains, so top-k is one.
    """
    wanted = arm.speculation
    if wanted.method == "none":
        return {}
    spelled = arm.engine.speculation[wanted.method].spelled
    flags: Flags = {
        "--speculative-algorithm": spelled,
        "--speculative-draft-model-path": str(placed.drafter) if placed.drafter else None,
        "--speculative-draft-model-quantization": wanted.drafter_quantization,
    }
    if spelled == "DSPARK":
        return flags | {"--speculative-dspark-block-size": wanted.draft_tokens}
    if spelled in ("NEXTN", "EAGLE3", "STANDALONE"):
        flags |= {
            "--speculative-num-steps": wanted.draft_tokens,
            "--speculative-eagle-topk": 1,
        }
    return flags | {"--speculative-num-draft-tokens": wanted.draft_tokens + 1}
