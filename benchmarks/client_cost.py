"""What the measuring client costs: its CPU time per 1,000 tokens at 16 streams, one token a chunk
(the worst case), beside a plain aiohttp client that reads lines, in the same run."""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import aiohttp

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "scripts"), str(REPOSITORY)]

from specdock.runs.client import CellPlan, measure_cell  # noqa: E402
from specdock.runs.exchange import PATH  # noqa: E402
from specdock.workloads.prompts import Prompt  # noqa: E402
from tests.stand_ins.openai_server import Behaviour  # noqa: E402

LIMIT = 15.0
TOKENS = 256
BODY = {
    "model": "target",
    "max_tokens": TOKENS,
    "temperature": 0.0,
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_token_ids": True,
}

Client = Callable[[str, int, int], Awaitable[float]]


def main() -> None:
    """Prints the cost of both clients and their ratio; exits with 1 over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--requests", type=int, default=48, help="requests a round")
    parser.add_argument("--rate", type=float, default=1000.0, help="tokens per second, all streams")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each client, in turn")
    given = parser.parse_args()
    clients: dict[str, Client] = {"specdock": _specdock, "plain": _plain}
    costs: dict[str, list[float]] = {name: [] for name in clients}
    with _server(interval=given.streams / given.rate) as url:
        for _ in range(given.rounds):
            for name, client in clients.items():
                seconds = asyncio.run(client(url, given.streams, given.requests))
                costs[name].append(100 * seconds / (given.requests * TOKENS / 1000))
    for name, values in costs.items():
        print(
            f"{name:9} {median(values):5.1f} % of one core per 1,000 tok/s "
            f"({min(values):.1f} to {max(values):.1f})"
        )
    print(f"specdock / plain: {median(costs['specdock']) / median(costs['plain']):.2f}")
    sys.exit(median(costs["specdock"]) > LIMIT)


@contextmanager
def _server(interval: float) -> Iterator[str]:
    behaviour = Behaviour(tokens=TOKENS, interval=interval).model_dump_json()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stand_ins.openai_server", "--behaviour", behaviour],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _messages(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Tell me about the number {number}."}]


async def _specdock(url: str, streams: int, requests: int) -> float:
    """CPU seconds that the measured window cost."""
    prompts = [Prompt(str(number), _messages(number)) for number in range(requests + streams)]
    plan = CellPlan(streams, requests, streams, BODY, BODY, seed=1, request_timeout=600)
    measured = await measure_cell(url, prompts, plan, lambda *_: None, lambda _: None)
    return measured.client_cpu


async def _plain(url: str, streams: int, requests: int) -> float:
    """CPU seconds of a client that iterates over lines and decodes with the standard library."""
    numbers = iter(range(requests))

    async def stream(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            times, texts = [], []
            async with session.post(url + PATH, json=BODY | {"messages": _messages(number)}) as got:
                async for line in got.content:
                    text = line.decode().strip()
                    if not text.startswith("data:") or text == "data: [DONE]":
                        continue
                    choices = json.loads(text[5:])["choices"]
                    if choices and (content := choices[0]["delta"].get("content")):
                        times.append(time.monotonic())
                        texts.append(content)
            assert len(times) == TOKENS

    async with aiohttp.ClientSession() as session:
        start = time.process_time()
        await asyncio.gather(*(stream(session) for _ in range(streams)))
        return time.process_time() - start


if __name__ == "__main__":
    main()
