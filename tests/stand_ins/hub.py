"""A hub on 127.0.0.1 that the real huggingface-hub client pins and downloads from."""

import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

LARGE = (".safetensors", ".gguf")


@dataclass
class Repository:
    """One repository with one head commit; large files are stored as LFS files."""

    name: str
    commit: str
    files: dict[str, bytes]
    kind: Literal["models", "datasets"] = "models"
    state: Literal["open", "gated", "private", "missing"] = "open"
    older: list[str] = field(default_factory=list)
    licence: str | list[str] = "apache-2.0"

    def entry(self, path: str) -> dict:
        """A file as the tree API states it."""
        content = self.files[path]
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entry = {"type": "file", "path": path, "size": len(content), "oid": blob}
        if path.endswith(LARGE):
            digest = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 134}
        return entry


class Hub:
    """Serves repositories until it is closed; use as a context manager."""

    def __init__(self, *repositories: Repository):
        hub = self

        class Handler(_Handler):
            repositories_of_hub = repositories

            def log_message(self, *_: object) -> None:
                hub.requests.append(f"{self.command} {self.path}")

        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Hub":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    repositories_of_hub: tuple[Repository, ...] = ()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        for repository in self.repositories_of_hub:
            prefix = "" if repository.kind == "models" else f"{repository.kind}/"
            api = re.match(rf"/api/{repository.kind}/{repository.name}(/.*)?$", path)
            file = re.match(rf"/{prefix}{repository.name}/resolve/([^/]+)/(.+)$", path)
            if (api or file) and repository.state == "gated":
                return self._refuse(403, "GatedRepo")
            if (api or file) and repository.state == "private":
                return self._refuse(401, "")
            if (api or file) and repository.state == "missing":
                return self._refuse(404, "RepoNotFound")
            if api:
                return self._api(repository, api.group(1) or "")
            if file:
                return self._file(repository, *file.groups())
        return self._refuse(404, "RepoNotFound")

    def _api(self, repository: Repository, rest: str) -> None:
        part, _, revision = rest.strip("/").partition("/")
        revision = revision.partition("/")[0] or "main"
        if revision not in ("main", repository.commit):
            return self._refuse(404, "RevisionNotFound")
        if part == "tree":
            return self._json([repository.entry(path) for path in repository.files])
        if part == "commits":
            commits = [repository.commit, *repository.older]
            return self._json([_commit(commit) for commit in commits])
        return self._json(_info(repository))

    def _file(self, repository: Repository, revision: str, path: str) -> None:
        if revision not in ("main", repository.commit):
            return self._refuse(404, "RevisionNotFound")
        if path not in repository.files:
            return self._refuse(404, "EntryNotFound")
        entry = repository.entry(path)
        etag = entry["lfs"]["oid"] if "lfs" in entry else entry["oid"]
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": repository.commit}
        return self._send(200, repository.files[path], headers)

    def _json(self, content: object) -> None:
        body = json.dumps(content).encode()
        self._send(200, body, {"Content-Type": "application/json"})

    def _refuse(self, status: int, code: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": code}
        self._send(status, json.dumps({"error": code}).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _info(repository: Repository) -> dict:
    siblings = []
    for path in repository.files:
        entry = repository.entry(path)
        sibling = {"rfilename": path, "blobId": entry["oid"], "size": entry["size"]}
        if "lfs" in entry:
            sibling["lfs"] = {**entry["lfs"], "sha256": entry["lfs"]["oid"]}
        siblings.append(sibling)
    return {
        "_id": "0",
        "id": repository.name,
        "modelId": repository.name,
        "sha": repository.commit,
        "private": False,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "cardData": {"license": repository.licence},
        "siblings": siblings,
    }


def _commit(commit: str) -> dict:
    return {
        "id": commit,
        "title": "a change",
        "message": "",
        "authors": [],
        "date": "2026-10-01T00:00:00.000Z",
    }
