"""Runs in SGLang's own environment: its parser judges a command line.

Reads the arguments of the server as a JSON list from standard input, and writes a JSON object
(checked, unchecked, problems) as the last line of standard output.
"""

import argparse
import json
import sys


def main() -> None:
    """Judges the arguments, as far as this machine allows."""
    from sglang.srt.server_args import ServerArgs

    arguments = json.load(sys.stdin)
    problems: list[str] = []

    def refuse(message: str) -> None:
        problems.append(message)
        raise SystemExit(2)

    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.error = refuse
    ServerArgs.add_cli_args(parser)
    try:
        parsed = parser.parse_args(arguments)
    except SystemExit:
        pass
    else:
        problems += _speculation(parsed.speculative_algorithm)
    report = {
        "checked": ["every flag and value, by SGLang's own parser"],
        "unchecked": [
            "how flags fit together and with the model: SGLang resolves them with the model, on a "
            "card"
        ],
        "problems": problems,
    }
    print(json.dumps(report))


def _speculation(name: str | None) -> list[str]:
    """The parser takes any name of an algorithm; the registry does not."""
    if name is None:
        return []
    from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

    try:
        SpeculativeAlgorithm.from_string(name)
    except (KeyError, ValueError) as fault:
        return [str(fault)]
    return []


if __name__ == "__main__":
    main()
