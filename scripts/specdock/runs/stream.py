"""Reads a streamed chat completion: server-sent events, and what they say of one answer."""

from typing import Any

import orjson

DONE = b"[DONE]"
_ENGINE_METRICS = ("metrics", "timings", "sglext")


class BadStream(Exception):
    """The server answered, but not with a complete chat completion; the text says how."""


class EventDecoder:
    """Turns bytes, cut anywhere, into the data of server-sent events.

    Lines may end in LF or CRLF; comments and fields other than `data` are left out, as the HTML
    standard's section on server-sent events has it.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """The data of every event that these bytes complete."""
        events = []
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removesuffix(b"\r").removeprefix(b" "))
            elif line in (b"", b"\r"):
                if data := b"\n".join(self._data):
                    events.append(data)
                self._data.clear()
        return events


class Answer:
    """What the events of one stream add up to; times are by whatever clock `take` is given.

    `tokens` counts token ids so far, or chunks where the engine gives none: good enough to show.
    """

    def __init__(self) -> None:
        self.chunk_times: list[float] = []
        self.chunk_tokens: list[int] = []
        self.token_ids: list[int] = []
        self.prompt_token_ids: list[int] | None = None
        self.finish_reason: str | None = None
        self.fingerprint: str | None = None
        self.usage: dict[str, Any] | None = None
        self.engine_metrics: dict[str, Any] = {}
        self.tokens = 0
        self.done = False
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def take(self, data: bytes, now: float) -> None:
        """Reads the data of one event that arrived at `now`.

        Raises `BadStream` for an error of the server and for what is no chat completion chunk.
        """
        if data == DONE:
            self.done = True
            return
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError:
            raise BadStream(f"an event is not JSON: {quoted(data)}") from None
        choices = event.get("choices") if isinstance(event, dict) else None
        if choices is None:
            raise BadStream(f"the server sent this instead of a chunk: {quoted(data)}")
        if choices:
            self._take_choice(choices[0], now)
        if usage := event.get("usage"):
            self.usage = usage
        if prompt := event.get("prompt_token_ids"):
            self.prompt_token_ids = prompt
        if fingerprint := event.get("system_fingerprint"):
            self.fingerprint = fingerprint
        for name in _ENGINE_METRICS:
            if account := event.get(name):
                self.engine_metrics[name] = account

    def _take_choice(self, choice: dict[str, Any], now: float) -> None:
        delta = choice.get("delta") or {}
        content = delta.get("content")
        # vLLM says `reasoning`; other engines and older versions say `reasoning_content`.
        reasoning = delta.get("reasoning") or delta.get("reasoning_content")
        ids = choice.get("token_ids")
        # The chunk that only names the role carries none of the three, and is no token.
        if content or reasoning or ids:
            self.chunk_times.append(now)
            self.chunk_tokens.append(-1 if ids is None else len(ids))
            self.tokens += len(ids) if ids else 1
        if content:
            self._text.append(content)
        if reasoning:
            self._reasoning.append(reasoning)
        if ids:
            self.token_ids += ids
        if reason := choice.get("finish_reason"):
            self.finish_reason = reason

    @property
    def text(self) -> str:
        """Content so far."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """Reasoning so far."""
        return "".join(self._reasoning)

    def check_complete(self) -> None:
        """Raises `BadStream` with all that a complete stream has and this one lacks."""
        lacking = {
            "a finish reason": self.finish_reason is None,
            "usage": self.usage is None,
            "[DONE]": not self.done,
        }
        if missing := [what for what, lacks in lacking.items() if lacks]:
            raise BadStream(f"the stream ended without {' and without '.join(missing)}")

    def steps(self, name: str) -> list[int]:
        """`per_step_accepted` or `per_step_drafted` of vLLM's detailed metrics, else empty."""
        speculation = self.engine_metrics.get("metrics", {}).get("speculative_decoding") or {}
        return speculation.get(name) or []


def quoted(data: bytes) -> str:
    """The start of what a server said, on one line, for a message."""
    text = " ".join(data.decode("utf-8", "replace").split())
    return text if len(text) <= 300 else f"{text[:300]}..."
