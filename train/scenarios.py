"""Writes down every prompt of every data set here, for the training to keep clear of."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from specdock.pins.fetch import ensure_fetched, make_lock, pin_of
from specdock.plan.load import load_data_sets
from specdock.plan.models import PackageSource, PathSource
from specdock.workloads.prompts import read_prompts


def scenario_prompts(root: Path) -> Iterator[tuple[str, str]]:
    """Data set and text of each prompt; data sets of a hub or a local folder are left out."""
    for name, entry in load_data_sets(root).items():
        if not isinstance(entry.source, PackageSource | PathSource):
            continue
        lock = root / f"results/pins/{pin_of(name, entry)}.lock.json"
        if not lock.exists():
            lock.parent.mkdir(parents=True, exist_ok=True)
            lock.write_text(make_lock(name, entry, root).model_dump_json(), encoding="utf-8")
        for prompt in read_prompts(name, entry, ensure_fetched(name, entry, root)):
            yield name, "\n".join(message["content"] for message in prompt.messages)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", type=Path, required=True, help="JSON lines of kind, text")
    options = arguments.parse_args()
    lines = [
        json.dumps({"kind": kind, "text": text}, ensure_ascii=False) + "\n"
        for kind, text in scenario_prompts(Path.cwd())
    ]
    options.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
