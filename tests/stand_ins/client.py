"""A client that is not ours, small: it sends bodies one after another and exports what came back.

`python tests/stand_ins/client.py URL BODIES EXPORT TIMES`: each body is sent TIMES times, and no
client should send one twice.
"""

import json
import sys
import time
import urllib.request
from pathlib import Path


def main() -> None:
    url, bodies, export, times = sys.argv[1:]
    with Path(export).open("w", encoding="utf-8") as file:
        for body in Path(bodies).read_text("utf-8").splitlines() * int(times):
            record = {"body": body, "sent": time.time(), "events": []}
            request = urllib.request.Request(f"{url}/v1/chat/completions", data=body.encode())
            request.add_header("Content-Type", "application/json")
            with urllib.request.urlopen(request) as answer:
                for line in answer:
                    if line.startswith(b"data: "):
                        record["events"].append((time.time(), line[6:].decode().strip()))
            record["ended"] = time.time()
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
