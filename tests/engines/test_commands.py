"""The command of an arm: one word in config, each engine's own words on its command line."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from specdock.engines import ADAPTERS
from specdock.engines.contract import Placed
from specdock.errors import SpecdockError
from tests.engines.arms import ENGINES, arm, options, scenario


@pytest.fixture
def placed(tmp_path) -> Placed:
    for name in ("target", "drafter"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.gguf").touch()
    return Placed(Path("env/bin/python"), tmp_path / "target", tmp_path / "drafter", Path("cache"))


def command_of(placed: Placed, *of_arm: object) -> dict[str, str | bool]:
    wanted = arm(*of_arm)
    fits = placed if wanted.drafter else replace(placed, drafter=None)
    return options(ADAPTERS[wanted.engine.adapter].command(wanted, fits, 8100))


def speculative_config(placed: Placed, engine: str, speculation: dict) -> dict:
    return json.loads(command_of(placed, engine, speculation)["--speculative-config"])


EVERY_METHOD = [(name, method) for name, engine in ENGINES.items() for method in engine.speculation]


@pytest.mark.parametrize(("engine", "method"), EVERY_METHOD)
def test_every_method_of_every_engine_says_how_much_is_drafted_and_with_what(
    placed, engine, method
):
    given = command_of(placed, engine, {"method": method, "draft_tokens": 7})
    support = ENGINES[engine].speculation[method]
    said = " ".join(map(str, given.values()))

    assert support.spelled in said
    assert (str(placed.drafter) in said) == support.needs_drafter
    assert re.search(r"(?<![\w.])[78](?![\w.])", said.replace(str(placed.target), ""))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_server_listens_on_loopback_and_where_it_is_told(placed, engine):
    given = command_of(placed, engine)
    assert (given["--host"], given["--port"]) == ("127.0.0.1", "8100")


@pytest.mark.parametrize("engine", ENGINES)
def test_verbatim_flags_have_the_last_word(placed, engine):
    flags = {"--port": 1, "--more": True, "--less": False}
    given = command_of(placed, engine, None, {"flags": flags})
    assert given["--port"] == "1" and given["--more"] is True and "--less" not in given


@pytest.mark.parametrize(
    ("method", "flags"),
    [
        ("mtp", {"--speculative-algorithm": "NEXTN", "--speculative-num-steps": "7",
                 "--speculative-eagle-topk": "1", "--speculative-num-draft-tokens": "8"}),
        ("dflash2", {"--speculative-algorithm": "DFLASH", "--speculative-num-draft-tokens": "8"}),
        ("dspark", {"--speculative-algorithm": "DSPARK", "--speculative-dspark-block-size": "7"}),
        ("ngram", {"--speculative-algorithm": "NGRAM", "--speculative-num-draft-tokens": "8"}),
    ],
)  # fmt: skip
def test_sglang_counts_the_bonus_token_and_we_do_not(placed, method, flags):
    given = command_of(placed, "sglang-0.5.23", {"method": method, "draft_tokens": 7})
    told = {flag: value for flag, value in given.items() if flag.startswith("--speculative")}
    told.pop("--speculative-draft-model-path", None)
    assert told == flags


def test_the_published_flags_of_sglang_come_out_of_an_arm(placed):
    serve = {
        "memory_utilization": 0.41,
        "request_slots": 4,
        "context_tokens": 153600,
        "batch_tokens": 2048,
        "kv_cache_dtype": "fp8_e4m3",
        "prefix_caching": True,
        "flags": {"--attention-backend": "flashinfer", "--sleep-on-idle": True},
    }
    given = command_of(placed, "sglang-0.5.23", None, serve)
    assert {
        "--mem-fraction-static": "0.41",
        "--max-running-requests": "4",
        "--context-length": "153600",
        "--chunked-prefill-size": "2048",
        "--kv-cache-dtype": "fp8_e4m3",
        "--attention-backend": "flashinfer",
        "--sleep-on-idle": True,
    }.items() <= given.items()
    assert "--disable-radix-cache" not in given


def test_dflash_2_is_vllms_dflash_with_a_schedule_and_a_quantised_drafter(placed):
    speculation = {
        "method": "dflash2",
        "draft_tokens": 7,
        "schedule": {"1-12": 7, "13-32": 3},
        "drafter_quantization": "fp8_per_tensor",
    }
    assert speculative_config(placed, "vllm-0.33.0", speculation) == {
        "method": "dflash",
        "num_speculative_tokens": 7,
        "model": str(placed.drafter),
        "quantization": "fp8_per_tensor",
        "num_speculative_tokens_per_batch_size": [[1, 12, 7], [13, 32, 3]],
    }


def test_acceptance_is_imposed_by_length_or_by_rates(placed):
    by_length = {"method": "mtp", "draft_tokens": 3, "imposed_acceptance_length": 2.5}
    config = speculative_config(placed, "vllm-0.33.0", by_length)
    assert config["rejection_sample_method"] == "synthetic"
    assert config["synthetic_acceptance_length"] == 2.5
    by_rates = {"method": "mtp", "draft_tokens": 2, "imposed_acceptance_rates": [0.8, 0.5]}
    config = speculative_config(placed, "vllm-0.33.0", by_rates)
    assert config["synthetic_acceptance_rates"] == [0.8, 0.5]
    assert arm("vllm-0.33.0", by_length).synthetic and arm("vllm-0.33.0", by_rates).synthetic

    sglang = arm("sglang-0.5.23", by_length)
    variables = ADAPTERS["sglang"].variables(sglang, placed)
    assert variables["SGLANG_SIMULATE_ACC_LEN"] == "2.5"
    assert variables["SGLANG_SIMULATE_ACC_TOKEN_MODE"] == "real-draft-token"


def test_steps_are_asked_for_from_the_version_that_has_them(placed):
    speculation = {"method": "mtp", "draft_tokens": 3}
    flag = "--per-request-spec-decode-metrics"
    assert flag not in command_of(placed, "vllm-0.27.1", speculation)
    assert command_of(placed, "vllm-0.32.0", speculation)[flag] == "detailed"


def test_the_arms_of_an_environment_share_what_vllm_compiles(placed):
    for engine in ("vllm-0.27.1", "vllm-0.32.0", "vllm-0.33.0"):
        variables = ADAPTERS["vllm"].variables(arm(engine), placed)
        for cache in ("VLLM_CACHE_ROOT", "TRITON_CACHE_DIR"):
            assert Path(variables[cache]).parent == placed.cache


def test_kv_memory_is_bytes_for_a_card_and_whole_gibibytes_for_a_processor(placed):
    serve = {"kv_cache_gib": 1.5}
    assert command_of(placed, "vllm-0.33.0", None, serve)["--kv-cache-memory-bytes"] == "1610612736"
    on_processor = arm("vllm-0.32.0-cpu", None, {"kv_cache_gib": 1.0})
    assert "VLLM_CPU_KVCACHE_SPACE" not in command_of(placed, "vllm-0.32.0-cpu", None, serve)
    assert ADAPTERS["vllm"].variables(on_processor, placed)["VLLM_CPU_KVCACHE_SPACE"] == "1"


@pytest.mark.parametrize(
    ("graphs", "flags"),
    [
        ("none", {"--enforce-eager": True}),
        ("piecewise", {"--compilation-config": '{"cudagraph_mode": "PIECEWISE"}'}),
    ],
)
def test_graph_modes_are_data(placed, graphs, flags):
    assert flags.items() <= command_of(placed, "vllm-0.27.1", None, {"graphs": graphs}).items()


def test_llama_cpp_always_names_the_type_of_speculation(placed):
    assert command_of(placed, "llama-cpp-0.10068.0")["--spec-type"] == "none"
    given = command_of(placed, "llama-cpp-0.10068.0", {"method": "draft_model", "draft_tokens": 4})
    assert given["--spec-type"] == "draft-simple"
    assert given["--spec-draft-model"] == str(placed.drafter / "model.gguf")


def test_llama_cpp_shares_its_context_among_the_slots(placed):
    serve = {"request_slots": 4, "context_tokens": 2048}
    given = command_of(placed, "llama-cpp-0.10068.0", None, serve)
    assert (given["--ctx-size"], given["--parallel"]) == ("8192", "4")


def test_llama_cpp_is_the_program_beside_the_interpreter(placed):
    command = ADAPTERS["llama-cpp"].command(arm("llama-cpp-0.10068.0"), placed, 8100)
    assert command[0] == "env/bin/llama-server-vulkan"


def test_a_sharded_gguf_is_named_by_its_first_part_and_two_models_are_refused(placed):
    (placed.target / "model.gguf").unlink()
    for part in ("big-00001-of-00002.gguf", "big-00002-of-00002.gguf"):
        (placed.target / part).touch()
    given = command_of(placed, "llama-cpp-0.10068.0")
    assert given["--model"].endswith("big-00001-of-00002.gguf")
    (placed.target / "other.gguf").touch()
    with pytest.raises(SpecdockError, match="one GGUF model"):
        command_of(placed, "llama-cpp-0.10068.0")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_sampling_field_is_sent_and_nothing_runs_past_its_end(adapter):
    engine = next(name for name, entry in ENGINES.items() if entry.adapter == adapter)
    body = ADAPTERS[adapter].body(arm(engine), scenario(fixed_length=False, thinking=False))
    assert body["temperature"] == 0.0 and body["top_p"] == 1.0 and body["min_p"] == 0.0
    assert body.keys() & {"repetition_penalty", "repeat_penalty"}
    assert body["ignore_eos"] is False
    assert body["stream_options"] == {"include_usage": True}
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_llama_cpp_serves_no_prompt_from_its_cache():
    body = ADAPTERS["llama-cpp"].body(arm("llama-cpp-0.10068.0"), scenario())
    assert body["cache_prompt"] is False


def test_sglang_is_asked_for_the_drafting_account_of_each_request():
    speculating = arm("sglang-0.5.23", {"method": "mtp", "draft_tokens": 3})
    body = ADAPTERS["sglang"].body(speculating, scenario())
    assert body["return_spec_tokens_details"] is True
    assert "return_token_ids" not in body  # refused in a stream


def test_a_graph_mode_that_no_arm_asks_for_is_left_to_the_engine(placed):
    asked = command_of(placed, "vllm-0.27.1", None, {"graphs": "none"})
    assert "--enforce-eager" in asked
    assert "--enforce-eager" not in command_of(placed, "vllm-0.27.1", None, {})
