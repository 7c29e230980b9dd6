"""llama.cpp's `llama-server`, from a package or as a binary that is there already."""

from pathlib import Path

from specdock.engines.contract import SERVED_NAME, Placed, as_arguments, chat_body, served_as
from specdock.errors import SpecdockError
from specdock.plan.models import Flags
from specdock.plan.spec import ArmSpec, ScenarioSpec


class LlamaCpp:
    """Speaks to `llama-server`.

    Nothing needs a reset: a request that sends `cache_prompt: false` finds no cache, and erasing a
    slot is answered with 501 unless slots are saved to disk.
    """

    health = "/health"
    metrics = "/metrics"
    identity = ("/props", "/v1/models", "/slots")
    reset = ()

    def command(self, arm: ArmSpec, placed: Placed, port: int) -> list[str]:
        """The server with the engine's flags, the arm's, and the arm's verbatim ones last."""
        program = arm.engine.program
        server = placed.python.with_name(program) if program else placed.python
        flags: Flags = {
            "--model": str(gguf_in(placed.target)),
            "--alias": SERVED_NAME,
            "--host": placed.host,
            "--port": port,
            **arm.engine.flags,
            **served_as(arm),
            **_context(arm),
            **_speculation(arm, placed),
            **arm.serve.flags,
        }
        return [str(server), *as_arguments(flags)]

    def variables(self, arm: ArmSpec, placed: Placed) -> dict[str, str]:
        """The engine's and the arm's variables."""
        return arm.engine.variables | arm.variables

    def body(self, arm: ArmSpec, scenario: ScenarioSpec) -> dict:
        """Chat completion fields; the usage chunk brings `timings` with the drafting account."""
        return chat_body(scenario) | {
            "repeat_penalty": scenario.sampling.repetition_penalty,
            "cache_prompt": arm.serve.prefix_caching,
        }


def gguf_in(folder: Path) -> Path:
    """The GGUF file of a checkpoint, the first shard where it comes in several.

    Raises `SpecdockError` if there is none, or more than one model.
    """
    found = sorted(folder.rglob("*.gguf"))
    first = [path for path in found if "-of-" not in path.name or "-00001-of-" in path.name]
    if len(first) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise SpecdockError(
            f"{folder}: llama.cpp serves one GGUF model\n  found    {names}\n"
            "  name the file under `files` or `members` of the checkpoint in config/models.yaml"
        )
    return first[0]


def _context(arm: ArmSpec) -> Flags:
    """All slots share the context of the command line; ours is a request's."""
    serve = arm.serve
    if serve.context_tokens is None:
        return {}
    return {"--ctx-size": serve.context_tokens * (serve.request_slots or 1)}


def _speculation(arm: ArmSpec, placed: Placed) -> Flags:
    """Always names the type: a drafter without one is loaded and then silently not used."""
    wanted = arm.speculation
    if wanted.method == "none":
        return {"--spec-type": "none"}
    spelled = arm.engine.speculation[wanted.method].spelled
    flags: Flags = {"--spec-type": spelled, "--spec-draft-n-max": wanted.draft_tokens}
    if placed.drafter is not None:
        flags["--spec-draft-model"] = str(gguf_in(placed.drafter))
    if spelled.startswith("ngram-"):
        flags[f"--spec-{spelled}-size-m"] = wanted.draft_tokens
        flags[f"--spec-{spelled}-size-n"] = wanted.prompt_lookup_max
    return flags
