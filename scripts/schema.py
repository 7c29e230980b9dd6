"""Writes config/schema.json, which editors use to complete and check study files."""

import json
from pathlib import Path

from specdock.plan.schema import study_schema


def main() -> None:
    """Writes the schema of a study file, from the repository root."""
    text = json.dumps(study_schema(), indent=2) + "\n"
    Path("config/schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
