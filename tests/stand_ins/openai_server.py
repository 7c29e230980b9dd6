"""An OpenAI-style server of streamed chat completions that misbehaves as it is told.

It speaks as vLLM does: role chunk first, token ids, usage, per-step acceptance, counters. Run as a
program it is an engine process: `python -m tests.stand_ins.openai_server --port 0 --behaviour
'{"fault": "no-usage"}'` prints its port on the first line.
"""

import argparse
import asyncio
import itertools
import os
import sys
import time
from collections.abc import Iterator
from typing import Literal

import orjson
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from pydantic import BaseModel, ConfigDict

MODEL = "target"
FINGERPRINT = "stand-in-1.0-00000000"
Fault = Literal[
    "http-400",
    "http-500",
    "close-mid-stream",
    "reset-mid-stream",
    "close-unanswered",
    "error-mid-stream",
    "not-json",
    "no-usage",
    "no-finish-reason",
    "no-done",
    "never-answers",
]

_MID_STREAM = ("close-mid-stream", "reset-mid-stream", "error-mid-stream", "not-json")


class Behaviour(BaseModel):
    """What the server does; times in seconds. A fault strikes from request `fault_from` on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fault: Fault | None = None
    fault_from: int = 0
    dies_at_start: bool = False
    dies_after: int | None = None
    ready_after: float | None = 0.0  # None: never
    first_after: float = 0.0
    interval: float = 0.0
    tokens: int = 12
    tokens_per_chunk: int = 1
    token_ids: bool = True
    draft_tokens: int = 0
    reasoning_tokens: int = 0
    reasoning_field: Literal["reasoning", "reasoning_content"] = "reasoning"
    cached_tokens: int = 0
    piece: int | None = None  # bytes of one write, however events fall
    line_end: Literal["\n", "\r\n"] = "\n"
    comments: bool = False


class StandIn:
    """The application, with a count of what it was asked and how much of it at once."""

    def __init__(self, behaviour: Behaviour):
        self.behaviour = behaviour
        self.started = time.monotonic()
        self.bodies: list[dict] = []
        self.running = 0
        self.most_running = 0
        self.resets = 0
        self._registry = CollectorRegistry()
        self._counters = {name: self._counter(name) for name in _COUNTERS}
        self._accepted_at = self._counter(
            "spec_decode_num_accepted_tokens_per_pos", extra=("position",)
        )
        self._running_gauge = Gauge(
            "vllm:num_requests_running", "now", ["engine", "model_name"], registry=self._registry
        ).labels("0", MODEL)
        info = Gauge(
            "vllm:cache_config_info",
            "configuration",
            ["engine", "kv_cache_size_tokens", "block_size"],
            registry=self._registry,
        )
        info.labels("0", "161280", "128").set(1)

    def _counter(self, name: str, extra: tuple[str, ...] = ()) -> Counter:
        labels = ["engine", "model_name", *extra]
        counter = Counter(f"vllm:{name}", name, labels, registry=self._registry)
        return counter if extra else counter.labels("0", MODEL)

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/reset_prefix_cache", self._reset)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/version", self._version)
        app.router.add_get("/v1/models", self._models)
        return app

    async def _health(self, _request: web.Request) -> web.Response:
        after = self.behaviour.ready_after
        ready = after is not None and time.monotonic() - self.started >= after
        return web.Response(status=200 if ready else 503)

    async def _metrics(self, _request: web.Request) -> web.Response:
        self._running_gauge.set(self.running)
        return web.Response(body=generate_latest(self._registry), content_type="text/plain")

    async def _reset(self, _request: web.Request) -> web.Response:
        self.resets += 1
        return web.json_response({"success": True})

    async def _version(self, _request: web.Request) -> web.Response:
        return web.json_response({"version": "1.0"})

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        behaviour = self.behaviour
        body = await request.json(loads=orjson.loads)
        number = len(self.bodies)
        self.bodies.append(body)
        if number == behaviour.dies_after:
            os._exit(1)
        fault = behaviour.fault if number >= behaviour.fault_from else None
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._answer(request, body, number, fault)
        finally:
            self.running -= 1

    async def _answer(
        self, request: web.Request, body: dict, number: int, fault: Fault | None
    ) -> web.StreamResponse:
        behaviour = self.behaviour
        if fault in ("http-400", "http-500"):
            status = int(fault.removeprefix("http-"))
            said = {"error": {"message": "told to refuse this", "code": status}}
            return web.json_response(said, status=status)
        if fault == "never-answers":
            await asyncio.sleep(3600)
        if fault == "close-unanswered":
            request.transport.close()
            return web.Response()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        chunks = list(self._chunks(body, number, fault))
        for n, chunk in enumerate(chunks):
            if n == len(chunks) // 2 and fault in _MID_STREAM:
                await self._break_off(fault, request, response)
                return response
            # The role chunk goes out at once, the first token when prefill is done.
            await asyncio.sleep((0, behaviour.first_after, behaviour.interval)[min(n, 2)])
            await self._write(response, chunk)
        if fault != "no-done":
            await self._write(response, b"[DONE]")
        return response

    async def _break_off(
        self, fault: Fault, request: web.Request, response: web.StreamResponse
    ) -> None:
        match fault:
            case "close-mid-stream":
                request.transport.close()
            case "reset-mid-stream":
                request.transport.abort()
            case "not-json":
                await self._write(response, b"{half an obj")
            case "error-mid-stream":
                message = "Context size has been exceeded."
                said = {"code": 500, "message": message, "type": "server_error"}
                await self._write(response, orjson.dumps({"error": said}))

    async def _write(self, response: web.StreamResponse, event: bytes) -> None:
        behaviour = self.behaviour
        end = behaviour.line_end.encode()
        comment = b": still here" + end + end if behaviour.comments else b""
        sent = comment + b"data: " + event + end + end
        piece = behaviour.piece or len(sent)
        for start in range(0, len(sent), piece):
            await response.write(sent[start : start + piece])
            if behaviour.piece:
                await asyncio.sleep(0)

    def _chunks(self, body: dict, number: int, fault: Fault | None) -> Iterator[bytes]:
        """The chunks of one answer, and the counters that it moves."""
        behaviour = self.behaviour
        # SGLang's client uses the newer name of the cap.
        cap = body.get("max_tokens") or body["max_completion_tokens"]
        wanted = min(behaviour.tokens, cap)
        reason = "length" if wanted == cap else "stop"
        prompt = orjson.dumps(body["messages"])
        give_ids = behaviour.token_ids and body.get("return_token_ids")
        frame = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": MODEL,
            "system_fingerprint": FINGERPRINT,
        }

        def chunk(delta: dict, ids: list[int] | None, finish: str | None = None, **more) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            if give_ids and ids is not None:
                choice["token_ids"] = ids
            return orjson.dumps(frame | {"choices": [choice]} | more)

        prompt_ids = {"prompt_token_ids": list(prompt)} if give_ids else {}
        yield chunk({"role": "assistant", "content": ""}, None, **prompt_ids)
        tokens = iter(range(1000, 1000 + wanted))
        # Prefill samples one token; each step after it gives tokens_per_chunk.
        steps = [1, *itertools.repeat(behaviour.tokens_per_chunk, wanted)]
        emitted, accepted = 0, []
        for n, step in enumerate(steps):
            ids = list(itertools.islice(tokens, step))
            if not ids:
                break
            if n and behaviour.draft_tokens:
                accepted.append(len(ids) - 1)
            thinking = emitted < behaviour.reasoning_tokens
            emitted += len(ids)
            finish = reason if emitted == wanted and fault != "no-finish-reason" else None
            text = "".join(f" w{i}" for i in ids)
            key = behaviour.reasoning_field if thinking else "content"
            yield chunk({key: text}, ids, finish)
        self._count(len(prompt), emitted, accepted)
        if fault != "no-usage":
            details = {"cached_tokens": behaviour.cached_tokens}
            usage = {
                "prompt_tokens": len(prompt),
                "completion_tokens": emitted,
                "total_tokens": len(prompt) + emitted,
                "prompt_tokens_details": details,
            }
            last = frame | {"choices": [], "usage": usage}
            if behaviour.draft_tokens:
                drafted = [behaviour.draft_tokens] * len(accepted)
                last["metrics"] = {
                    "speculative_decoding": {
                        "num_spec_steps": len(accepted),
                        "num_accepted_draft_tokens": sum(accepted),
                        "num_draft_tokens": sum(drafted),
                        "per_step_accepted": accepted,
                        "per_step_drafted": drafted,
                    }
                }
            yield orjson.dumps(last)

    def _count(self, prompt: int, emitted: int, accepted: list[int]) -> None:
        behaviour = self.behaviour
        self._counters["prompt_tokens"].inc(prompt)
        self._counters["generation_tokens"].inc(emitted)
        self._counters["prefix_cache_queries"].inc(prompt)
        self._counters["prefix_cache_hits"].inc(behaviour.cached_tokens)
        self._counters["spec_decode_num_drafts"].inc(len(accepted))
        self._counters["spec_decode_num_draft_tokens"].inc(len(accepted) * behaviour.draft_tokens)
        self._counters["spec_decode_num_accepted_tokens"].inc(sum(accepted))
        for position in range(behaviour.draft_tokens):
            reached = sum(number > position for number in accepted)
            self._accepted_at.labels("0", MODEL, str(position)).inc(reached)


_COUNTERS = (
    "prompt_tokens",
    "generation_tokens",
    "prefix_cache_queries",
    "prefix_cache_hits",
    "num_preemptions",
    "spec_decode_num_drafts",
    "spec_decode_num_draft_tokens",
    "spec_decode_num_accepted_tokens",
)


async def serve(stand_in: StandIn, port: int) -> tuple[web.AppRunner, int]:
    """Listens on 127.0.0.1; returns the runner, to be cleaned up, and the port."""
    runner = web.AppRunner(stand_in.application(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    return runner, runner.addresses[0][1]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--behaviour", default="{}", help="fields of Behaviour, as JSON")
    arguments = parser.parse_args()
    behaviour = Behaviour.model_validate_json(arguments.behaviour)
    if behaviour.dies_at_start:
        sys.exit("RuntimeError: told to die at start")
    _, port = await serve(StandIn(behaviour), arguments.port)
    print(port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
