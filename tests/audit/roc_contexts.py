"""Puts the two JSON-LD contexts of a crate into the validator's cache, so that it needs no network.

Runs in the validator's own environment: the argument is the cache. The context of RO-Crate 1.1 is
the one that rocrate ships; of the workflow-run terms, those are listed that its context defines.
"""

import io
import json
import sys
from pathlib import Path

import rocrate
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter
from requests_cache import CachedSession

TERMS = "https://w3id.org/ro/terms/workflow-run"
NAMES = ("ParameterConnection", "connection", "sourceParameter", "targetParameter")
NAMES += ("md5", "sha1", "sha256", "sha512")
CRATE = Path(rocrate.__file__).parent / "data/ro-crate.jsonld"
CONTEXTS = {
    "https://w3id.org/ro/crate/1.1/context": CRATE.read_bytes(),
    f"{TERMS}/context": json.dumps({"@context": {n: f"{TERMS}#{n}" for n in NAMES}}).encode(),
}


class Shelf(BaseAdapter):
    """Answers from `CONTEXTS`."""

    def send(self, request, **_):
        answer = urllib3.HTTPResponse(
            io.BytesIO(CONTEXTS[request.url]),
            {"Content-Type": "application/ld+json"},
            status=200,
            preload_content=False,
            request_method="GET",
            request_url=request.url,
        )
        return HTTPAdapter().build_response(request, answer)

    def close(self):
        pass


session = CachedSession(sys.argv[1], backend="sqlite", expire_after=-1)
session.mount("https://", Shelf())
for url in CONTEXTS:
    for accept in ("*/*", "application/ld+json", "application/ld+json, application/json"):
        session.get(url, headers={"Accept": accept})
