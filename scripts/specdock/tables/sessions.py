"""One row an engine start: what was served, by which code, on which machine, with what capacity."""

import json
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from specdock.plan.fingerprint import canonical
from specdock.plan.models import Engine
from specdock.plan.spec import Pinned, SessionSpec
from specdock.tables.evidence import Evidence, number_of


def session_row(
    spec: SessionSpec, session: Mapping, metrics: str, evidence: list[Evidence]
) -> dict:
    """A row of `schema.SESSIONS`, log_file and manifest_file aside.

    `metrics` is a /metrics text of the session; what it states of the KV pool goes before the log.
    """
    arm = spec.arm
    stated = _cache_info(metrics)
    return {
        "study": spec.study,
        "arm": arm.name,
        "seed": spec.seed,
        "session": session["session"],
        "engine": arm.engine_name,
        "engine_version": _version(session["identity"], arm.engine),
        "started_at": session["started_at"],
        "ready_after": session["ready_after"],
        "order": spec.order,
        "kv_pool_tokens": stated.get("kv_cache_size_tokens")
        or number_of(evidence, "kv_pool_tokens"),
        "request_slots": number_of(evidence, "request_slots") or arm.serve.request_slots,
        "recurrent_slots": number_of(evidence, "recurrent_slots"),
        "model_memory": _model_memory(evidence),
        "argv": session["argv"],
        "environment": canonical(session["environment"]),
        "lock_sha256": session["lock_sha256"],
        "target": pin_text(arm.target),
        "drafter": pin_text(arm.drafter) if arm.drafter else None,
        "checkpoints": json.dumps(session.get("checkpoints")),
        "gpu": json.dumps(session["gpu"]),
        "host": json.dumps(session["host"]),
        "commit": session["commit"],
        "dirty": session["dirty"],
        "evidence": [item._asdict() for item in evidence],
    }


def pin_text(pinned: Pinned) -> str:
    """A checkpoint as a reader cites it: name, where from, at which commit or hash."""
    source = pinned.checkpoint.source
    stated = source.model_dump(exclude_none=True)
    where = stated.get("repository") or stated.get("package") or stated.get("path")
    at = stated.get("revision") or stated.get("wheel_sha256") or pinned.pin
    return f"{pinned.name}: {where}@{at}"


def _version(identity: Mapping, engine: Engine) -> str | None:
    """What the engine itself calls its version."""
    if not engine.states_version:
        return None
    endpoint, key = engine.states_version
    stated = identity.get(endpoint)
    return stated.get(key) if isinstance(stated, dict) else None


def _model_memory(evidence: list[Evidence]) -> float | None:
    """GiB of weights, whether the log speaks of GiB or of MiB."""
    mebibytes = number_of(evidence, "model_memory_mib")
    stated = number_of(evidence, "model_memory_gib")
    return mebibytes / 1024 if stated is None and mebibytes is not None else stated


def _cache_info(metrics: str) -> dict[str, float]:
    """Numeric labels of the engine's cache_config_info gauge, such as kv_cache_size_tokens."""
    for family in text_string_to_metric_families(metrics):
        if family.name.endswith("cache_config_info"):
            for sample in family.samples:
                return {k: float(v) for k, v in sample.labels.items() if _is_number(v)}
    return {}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
