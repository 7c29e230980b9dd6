"""Writes the marker of an engine environment: the job behind the rule `environment_marker`."""

import argparse
import json
from pathlib import Path

from pydantic import TypeAdapter

from specdock.environments.marker import marker
from specdock.errors import told
from specdock.plan.models import EnvironmentSpec


def main() -> None:
    """Reads the config entry and its locks, writes what the environment is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", required=True, help="config entry, as JSON")
    parser.add_argument("--out", type=Path, required=True, help="the marker")
    arguments = parser.parse_args()
    spec = TypeAdapter(EnvironmentSpec).validate_json(arguments.environment)
    with told():
        written = json.dumps(marker(spec, root=Path.cwd()), indent=1)
    arguments.out.write_text(f"{written}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
