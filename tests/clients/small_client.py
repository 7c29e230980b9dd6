"""The contract for the small client of tests/stand_ins/client.py."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from specdock.clients.contract import Figures, Generated, Load, read_lines, write_lines
from specdock.runs.exchange import Exchange
from tests.stand_ins import client


class SmallClient:
    """Its command and its export."""

    exports = ("export.jsonl",)

    def command(self, python: Path, load: Load, folder: Path) -> list[str]:
        """Runs it as a program."""
        write_lines(folder / "bodies.jsonl", load.bodies)
        export, times = folder / "export.jsonl", load.flags.get("--times", 1)
        words = [load.base_url, folder / "bodies.jsonl", export, times]
        return [sys.executable, client.__file__, *map(str, words)]

    def figures(self, folder: Path) -> Figures:
        """Counts alone; it has no other account of itself."""
        count = len(list(read_lines(folder / "export.jsonl")))
        return Figures(count, count, 1.0, 1.0, 1.0)

    def rows(self, folder: Path, load: Load) -> Generated:
        """All that its export tells."""
        records = list(read_lines(folder / "export.jsonl"))
        zero = records[0]["sent"]
        prompts = {json.dumps(prompt.messages): prompt for prompt in load.prompts}
        rows = []
        for number, record in enumerate(records):
            body = json.loads(record["body"])
            exchange = Exchange(
                number, prompts[json.dumps(body["messages"])], record["body"].encode()
            )
            exchange.t_enqueue = exchange.t_send = record["sent"] - zero
            for at, data in record["events"]:
                exchange.answer.take(data.encode(), at - zero)
            exchange.t_end = record["ended"] - zero
            rows.append(replace(exchange.row("measured", 0.0), t_enqueue=None))
        return Generated(rows, zero)
