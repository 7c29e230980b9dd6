"""A server of OpenAI's completions, as an engine offers them to BFCL; it answers as it is told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[str], str | None]


@contextmanager
def completions_server(answer: Answer) -> Iterator[str]:
    """The base URL of a server that answers a prompt with a text, or with HTTP 500 for None.

    Every prompt counts 100 tokens, every answer 7.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": "target", "object": "model"}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = answer(asked["prompt"]) if self.path == "/v1/completions" else None
            if asked["model"] != "target" or text is None:
                self._send(500, {"error": {"message": "the engine has died"}})
                return
            usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
            choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
            about = {"id": "1", "object": "text_completion", "created": 1, "model": "target"}
            self._send(200, about | {"choices": [choice], "usage": usage})

        def _send(self, status: int, content: dict) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
