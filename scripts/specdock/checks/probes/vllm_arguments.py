"""Runs in vLLM's own environment: its parser and its config classes judge a command line.

Reads the arguments of the server as a JSON list from standard input, and writes a JSON object
(checked, unchecked, problems) as the last line of standard output.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

# Where 0.33, 0.32 and 0.27 keep the server's arguments, newest first.
_ARGUMENTS = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)


def main() -> None:
    """Judges the arguments, as far as this machine allows."""
    from vllm.platforms import current_platform

    arguments = json.load(sys.stdin)
    report: dict[str, list] = {"checked": [], "unchecked": [], "problems": []}
    device = current_platform.device_type
    # The parser makes default configurations, which want a device to name.
    current_platform.device_type = device or "cuda"
    parsed = _parsed(arguments, report)
    if parsed is not None:
        _speculation(parsed.speculative_config, report)
        _whole_config(parsed, bool(device), report)
    print(json.dumps(report))


def _parsed(arguments: list[str], report: dict) -> argparse.Namespace | None:
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    def refuse(message: str) -> None:
        report["problems"].append(message)
        raise SystemExit(2)

    parser = _cli().make_arg_parser(FlexibleArgumentParser())
    parser.error = refuse
    report["checked"].append("every flag and value, by vLLM's own parser")
    try:
        parsed = parser.parse_args(arguments)
        _cli().validate_parsed_serve_args(parsed)
    except SystemExit:
        return None
    except (TypeError, ValueError) as fault:
        report["problems"].append(str(fault))
        return None
    return parsed


def _cli() -> object:
    for name in _ARGUMENTS:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as missing:
            if not name.startswith(missing.name):
                raise
    raise ModuleNotFoundError(f"none of {', '.join(_ARGUMENTS)}")


def _speculation(config: dict | None, report: dict) -> None:
    """Keys and values one by one: the whole class needs the target's own configuration."""
    if config is None:
        return
    from vllm.config.speculative import SpeculativeConfig
    from vllm.v1.spec_decode.dynamic.utils import validate_and_normalize_dynamic_sd_schedule

    report["checked"].append("every speculative key and value, by vLLM's SpeculativeConfig")
    fields = SpeculativeConfig.__pydantic_fields__
    for key, value in config.items():
        if key not in fields:
            report["problems"].append(f"{key} is no key of this version's SpeculativeConfig")
            continue
        try:
            TypeAdapter(Annotated[fields[key].annotation, fields[key]]).validate_python(value)
        except ValidationError as fault:
            report["problems"].append(f"{key} = {value}: {fault.errors()[0]['msg']}")
    if (schedule := config.get("num_speculative_tokens_per_batch_size")) is not None:
        try:
            validate_and_normalize_dynamic_sd_schedule(schedule)
        except ValueError as fault:
            report["problems"].append(str(fault))


def _whole_config(parsed: argparse.Namespace, device: bool, report: dict) -> None:
    """The engine's whole configuration, where a device and the target's configuration are here."""
    what = "how the parts of the configuration fit together and with the model"
    if not device:
        report["unchecked"].append(f"{what}: vLLM sees no device that it was built for")
    elif not (Path(parsed.model) / "config.json").is_file():
        report["unchecked"].append(f"{what}: the target is not fetched")
    else:
        from vllm.engine.arg_utils import AsyncEngineArgs

        report["checked"].append(what)
        try:
            AsyncEngineArgs.from_cli_args(parsed).create_engine_config()
        except Exception as fault:  # whatever a config class raises is its verdict
            report["problems"].append(str(fault))


if __name__ == "__main__":
    main()
