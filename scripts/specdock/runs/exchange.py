"""One streamed request: sent, read to its end, and kept as a row."""

import asyncio
import hashlib
import os
import struct
import time
from typing import Any

import aiohttp
import orjson

from specdock.plan.fingerprint import canonical
from specdock.runs.requests import RequestRow
from specdock.runs.stream import Answer, BadStream, EventDecoder, quoted
from specdock.workloads.prompts import Prompt

PATH = "/v1/chat/completions"


def open_session(base_url: str) -> aiohttp.ClientSession:
    """An HTTP session for `Exchange.run`, without limits of its own."""
    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(_stamp_sent)
    return aiohttp.ClientSession(
        base_url,
        # By default aiohttp would queue what is beyond 100 streams. Every request has a connection
        # of its own: servers close idle ones, llama.cpp even one that it promised to keep.
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        # aiohttp's own timer costs at every chunk; `Exchange.run` has one for the request.
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
        trace_configs=[trace],
    )


async def _stamp_sent(_session: object, context: Any, _params: object) -> None:
    context.trace_request_ctx.t_send = time.monotonic()


def request_body(body: dict[str, Any], prompt: Prompt, seed: int) -> bytes:
    """The JSON that is sent: `body` with the prompt's messages and its sampling seed."""
    messages = {"messages": prompt.messages}
    return orjson.dumps(body | messages | {"seed": request_seed(seed, prompt.prompt_id)})


def request_seed(seed: int, prompt_id: str) -> int:
    """The sampling seed of a prompt in a replicate, in 0 to 2^31 - 1."""
    digest = hashlib.sha256(f"{seed} {prompt_id}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


class Exchange:
    """One request on its way: what is sent, and what has come back of it."""

    def __init__(self, request: int, prompt: Prompt, body: bytes):
        self.request = request
        self.prompt = prompt
        self.body = body
        self.answer = Answer()
        self.stream: int | None = None
        self.t_enqueue: float | None = None
        self.t_send: float | None = None
        self.t_end: float | None = None
        self.status: int | None = None
        self.error: str | None = None

    async def run(self, session: aiohttp.ClientSession, timeout: float) -> None:
        """Sends the request and reads its stream to the end, in `timeout` seconds.

        A fault goes into `error`. Raises `aiohttp.ClientConnectionError` if there is no server any
        more.
        """
        decoder = EventDecoder()
        try:
            async with (
                asyncio.timeout(timeout),
                session.post(PATH, data=self.body, trace_request_ctx=self) as response,
            ):
                self.status = response.status
                if response.status != 200:
                    said = quoted(await response.read())
                    raise BadStream(f"HTTP {response.status}: {said}")
                async for received in response.content.iter_any():
                    now = time.monotonic()
                    for data in decoder.feed(received):
                        self.answer.take(data, now)
            self.answer.check_complete()
        except BadStream as fault:
            self.error = str(fault)
        except TimeoutError:
            self.error = (
                f"no complete answer within {timeout:g} s (request_timeout of the scenario)"
            )
        except aiohttp.ClientPayloadError:
            self.error = "the connection closed in mid-stream"
        except aiohttp.ClientConnectionError as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) else error
            self.error = f"no connection to the server: {why}"
            raise
        finally:
            self.t_end = time.monotonic()

    def row(self, phase: str, zero: float) -> RequestRow:
        """What the raw file keeps, with times in seconds from `zero`."""
        answer = self.answer
        usage = answer.usage or {}
        times = [at - zero for at in answer.chunk_times]
        if (ids := answer.prompt_token_ids) is not None:
            hashed, hash_of = struct.pack(f"<{len(ids)}i", *ids), "token_ids"
        else:
            hashed, hash_of = canonical(self.prompt.messages).encode(), "messages"
        return RequestRow(
            phase=phase,
            request=self.request,
            stream=self.stream,
            prompt_id=self.prompt.prompt_id,
            category=self.prompt.category,
            body=self.body.decode(),
            prompt_sha256=hashlib.sha256(hashed).hexdigest(),
            prompt_hash_of=hash_of,
            t_enqueue=self.t_enqueue - zero,
            t_send=self.t_send - zero if self.t_send is not None else None,
            t_first=times[0] if times else None,
            t_last=times[-1] if times else None,
            t_end=self.t_end - zero,
            chunk_times=times,
            chunk_tokens=answer.chunk_tokens,
            text=answer.text,
            reasoning=answer.reasoning,
            token_ids=answer.token_ids,
            finish_reason=answer.finish_reason,
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
            step_accepted=answer.steps("per_step_accepted"),
            step_drafted=answer.steps("per_step_drafted"),
            engine_metrics=orjson.dumps(answer.engine_metrics).decode()
            if answer.engine_metrics
            else None,
            fingerprint=answer.fingerprint,
            status=self.status,
            error=self.error,
        )
