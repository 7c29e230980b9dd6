"""Benchmark clients that other people wrote, behind one small contract."""

from specdock.clients.aiperf import AIPerf
from specdock.clients.contract import Client, Generator
from specdock.clients.sglang_bench import SGLangBench
from specdock.clients.vllm_bench import VLLMBench
from specdock.plan.spec import ClientSpec

CLIENTS: dict[str, Client] = {
    "aiperf": AIPerf(),
    "vllm-bench": VLLMBench(),
    "sglang-bench": SGLangBench(),
}
GENERATORS: dict[str, Generator] = {"aiperf": AIPerf(), "sglang-bench": SGLangBench()}


def client_of(spec: ClientSpec) -> Client:
    """The module that drives a client and reads what it exports."""
    return CLIENTS[spec.client.adapter]


def generator_of(spec: ClientSpec) -> Generator:
    """The same for a client whose export tells of each request."""
    return GENERATORS[spec.client.adapter]
