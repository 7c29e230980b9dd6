"""Fingerprint of a pinned model or data set, from its config entry alone."""

from specdock.plan.fingerprint import fingerprint
from specdock.plan.models import Checkpoint, DataSet


def pin_fingerprint(entry: Checkpoint | DataSet) -> str:
    """16 hex digits over what decides the bytes: the source and how they are read or converted."""
    decides = {"source", "convert", "derive", "reader"}
    return fingerprint(entry.model_dump(mode="json", include=decides, exclude_none=True))
