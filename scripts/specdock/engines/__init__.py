"""Engines: what differs between servers, behind one small contract."""

from specdock.engines.contained import InContainer
from specdock.engines.contract import Adapter
from specdock.engines.llama_cpp import LlamaCpp
from specdock.engines.sglang import SGLang
from specdock.engines.vllm import VLLM
from specdock.environments.container import find_runtime
from specdock.plan.models import ContainerEnvironment, Engine

ADAPTERS: dict[str, Adapter] = {"vllm": VLLM(), "sglang": SGLang(), "llama-cpp": LlamaCpp()}


def adapter_of(engine: Engine) -> Adapter:
    """The adapter that serves an engine here, in its image where it has one."""
    adapter = ADAPTERS[engine.adapter]
    if isinstance(engine.environment, ContainerEnvironment):
        return InContainer(adapter, find_runtime())
    return adapter
