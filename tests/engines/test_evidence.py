"""Every fact that design law 5 asks of a session is found in real engines' logs, on its line."""

import re

import pytest

from specdock.tables.evidence import find_evidence, number_of
from tests.engines.arms import ENGINES, ROOT

FIXTURES = ROOT / "tests/fixtures"

# What the logs state, read by eye. The 27B ones are of a card, the others of processors.
STATED = [
    (
        "vllm-0.33.0",
        "vllm-0.33.0-h200-dummy-27b.log",
        {
            "engine_version": ["0.33.0"],
            "speculation": ["None"],
            "architecture": ["Qwen3_5ForCausalLM"],
            "model_runner_v2": ["yes"],
            "kv_pool_tokens": ["558,780"],
            "kv_pool_gib": ["65.84"],
            "page_tokens": ["832"],
            "model_memory_gib": ["50.13"],
            "init_seconds": ["197.94"],
            "attention_backend": ["FLASH_ATTN"],
            "attention_kernel": ["FlashAttention version 3"],
            "gdn_prefill": ["FlashInfer"],
            "graphs_captured": ["PIECEWISE", "FULL"],
            "graphs_gib": ["0.19", "0.10"],
        },
    ),
    (
        "vllm-0.33.0",
        "vllm-0.33.0-h200-dflash2-start.log",
        {
            "speculation": [
                "SpeculativeConfig(method='dflash', model='/models/dflash2', num_spec_tokens=7)"
            ],
            "architecture": ["Qwen3_5ForCausalLM", "DFlash2DraftModel"],
            "model_memory_gib": ["53.58"],
            "gdn_spec_decode": ["cuda"],
            "drafter_dummy": ["skipped"],
        },
    ),
    (
        "vllm-0.27.1-cpu",
        "vllm-cpu-0.27.1-draft-model.log",
        {"engine_version": ["0.27.1"], "kv_pool_tokens": ["161,280"], "eager": ["yes"]},
    ),
    (
        "vllm-0.32.0-cpu",
        "vllm-cpu-0.32.0-dflash.log",
        {"engine_version": ["0.32.0"], "kv_pool_tokens": ["149,760"], "eager": ["yes"]},
    ),
    (
        "sglang-0.5.23",
        "sglang-0.5.23-cpu.log",
        {
            "speculation": ["'NGRAM'"],
            "architecture": ["Qwen3ForCausalLM"],
            "kv_pool_tokens": ["20000"],
            "kv_pool_dtype": ["bfloat16"],
            "request_slots": ["4"],
            "attention_backend": ["intel_amx"],
            "graphs_disabled": ["prefill CUDA graph"],
        },
    ),
    (
        "llama-cpp-0.10068.0",
        "llama-cpp-0.10068.0-draft-model.log",
        {
            "engine_version": ["1 (571d0d5)"],
            "speculation": ["draft-simple"],
            "kv_pool_tokens": ["2048"],
            "kv_pool_dtype": ["f16"],
            "kv_pool_unified": ["false"],
            "request_slots": ["2"],
            "model_memory_mib": ["92.10"],
            "attention_kernel": ["Flash Attention"],
        },
    ),
    (
        "llama-cpp-0.10068.0",
        "llama-cpp-0.10068.0-exhausted.log",
        {"kv_pool_exhausted": ["yes"]},
    ),
]


@pytest.mark.parametrize(("engine", "log", "stated"), STATED, ids=lambda value: str(value)[:40])
def test_what_a_real_log_states_is_found_on_the_line_that_states_it(engine, log, stated):
    lines = (FIXTURES / log).read_text().splitlines()
    found = find_evidence(lines, ENGINES[engine].patterns)
    for fact, values in stated.items():
        items = [item for item in found if item.fact == fact]
        assert [item.value for item in items] == values, fact
        for item in items:
            assert item.value == "yes" or item.value in lines[item.line - 1]


@pytest.mark.parametrize(("engine", "log"), [(engine, log) for engine, log, _ in STATED])
def test_no_clean_start_shows_a_marlin_kernel(engine, log):
    lines = (FIXTURES / log).read_text().splitlines()
    assert not [f for f in find_evidence(lines, ENGINES[engine].patterns) if f.fact == "marlin"]


# Lines that no fixture has, from the printf forms in the engines' sources.
PRINTED = [
    ("vllm-0.27.1", "Capturing model for DFlash2 speculator...", "drafter_graphs",
     "DFlash2 speculator"),
    ("vllm-0.33.0", "Capturing model for speculator...", "drafter_graphs", "speculator"),
    ("vllm-0.27.1", "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%",
     "graphs_captured", "PIECEWISE"),
    ("vllm-0.27.1", "Overriding cudagraph_mode from FULL_AND_PIECEWISE to PIECEWISE for",
     "graph_mode_changed", "FULL_AND_PIECEWISE to PIECEWISE"),
    ("vllm-0.33.0", "'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'x'",
     "graph_mode", "FULL_AND_PIECEWISE"),
    ("vllm-0.33.0", "Selected CutlassFP8ScaledMMLinearKernel for Fp8PerTensorOnlineLinearMethod",
     "fp8_kernel", "CutlassFP8ScaledMMLinearKernel"),
    ("vllm-0.33.0", "Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM", "nvfp4_kernel",
     "FlashInferCutlassNvFp4LinearKernel"),
    ("vllm-0.33.0", "Using MarlinNvFp4LinearKernel for NVFP4 GEMM", "marlin",
     "Using MarlinNvFp4LinearKernel"),
    ("vllm-0.32.0", "Falling back to the Triton GDN spec decode path: no FLA", "gdn_fallback",
     "no FLA"),
    ("sglang-0.5.23", "max_total_num_tokens=237000, chunked_prefill_size=2048, max_prefill_tokens="
     "16384, max_running_requests=4, context_len=153600, available_gpu_mem=3.1 GB",
     "request_slots", "4"),
    ("sglang-0.5.23", "Mamba Cache is allocated. max_mamba_cache_size: 28, conv_state size: 0.1GB,",
     "recurrent_slots", "28"),
    ("sglang-0.5.23", "Using hybrid linear attention backend for hybrid GDN models.",
     "linear_attention", "hybrid linear attention backend for hybrid GDN models"),
    ("sglang-0.5.23", "GDN kernel dispatcher: decode=TritonGDN, extend=FlashInferGDN, verify=X "
     "packed_decode=True", "gdn_kernels",
     "decode=TritonGDN, extend=FlashInferGDN, verify=X packed_decode=True"),
    ("sglang-0.5.23", "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=8",
     "graphs_captured", "target verify"),
    ("sglang-0.5.23", "Using FP8 KV cache but no scaling factors provided. Defaulting to scaling "
     "factors of 1.0.", "kv_scales_missing", "no scaling factors provided"),
    ("sglang-0.5.23", "Load weight end. elapsed=9.1 s, type=Qwen3_5ForCausalLM, quant=modelopt, "
     "avail mem=70.1 GB, mem usage=17.52 GB.", "model_memory_gib", "17.52"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "line", "fact", "value"), PRINTED)
def test_what_an_engines_source_prints_is_found(engine, line, fact, value):
    found = find_evidence([line], ENGINES[engine].patterns)
    assert (fact, value) in [(item.fact, item.value) for item in found]


def test_a_capacity_is_a_number_whatever_separates_its_thousands():
    lines = (FIXTURES / "vllm-0.33.0-h200-dummy-27b.log").read_text().splitlines()
    found = find_evidence(lines, ENGINES["vllm-0.33.0"].patterns)
    assert number_of(found, "kv_pool_tokens") == 558780


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pattern_has_one_group_at_most(engine):
    for fact, pattern in ENGINES[engine].patterns.items():
        assert re.compile(pattern).groups <= 1, fact
