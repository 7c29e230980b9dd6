"""Engines: what differs between servers, behind one small contract."""

from specdock.engines.contract import Adapter
from specdock.engines.llama_cpp import LlamaCpp
from specdock.engines.sglang import SGLang
from specdock.engines.vllm import VLLM

ADAPTERS: dict[str, Adapter] = {"vllm": VLLM(), "sglang": SGLang(), "llama-cpp": LlamaCpp()}
