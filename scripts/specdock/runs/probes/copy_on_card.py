"""Runs in an engine's own environment: its torch copies memory of the card, timed by the card.

Writes a JSON object as the last line of standard output: bytes of a copy, copies, the seconds of
the best one, torch's version; or `absent` with the reason.
"""

import json

_BYTES = 4 * 2**30
_COPIES = 10


def copy_on_card() -> dict:
    """Times copies far larger than the card's caches, or of a quarter of the memory left free."""
    try:
        import torch
    except ImportError as error:
        return {"absent": f"the engine's environment has no torch ({error})"}
    if not torch.cuda.is_available():
        return {"absent": f"torch {torch.__version__} sees no card"}
    free, _ = torch.cuda.mem_get_info()
    size = min(_BYTES, free // 4)
    source = torch.ones(size, dtype=torch.uint8, device="cuda")
    target = torch.zeros_like(source)
    milliseconds = []
    for _ in range(_COPIES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        milliseconds.append(start.elapsed_time(end))
    best = min(milliseconds) / 1000
    return {"bytes": size, "copies": _COPIES, "best": best, "torch": torch.__version__}


if __name__ == "__main__":
    print(json.dumps(copy_on_card()))
