"""An engine's own account of one request's drafting, where it lists no verification steps."""

import json
from dataclasses import dataclass

from specdock.tables.acceptance import committed_steps


@dataclass(frozen=True)
class Account:
    """Totals of one request; `verified` is None where the engine does not count its steps."""

    accepted: int
    drafted: int
    verified: int | None

    def steps(self, completion_tokens: int) -> int:
        """Decode steps: each gives one token of the target's own and what it accepted."""
        return committed_steps(completion_tokens, self.accepted, self.verified)


def account_of(engine_metrics: str | None) -> Account | None:
    """Reads the column `engine_metrics`; None where the engine tells nothing of drafting.

    SGLang streams `spec_tokens_details`. llama.cpp's `timings` leave `draft_n` out where nothing
    was drafted, and never count the drafts.
    """
    told = json.loads(engine_metrics) if engine_metrics else {}
    if details := told.get("sglext", {}).get("spec_tokens_details"):
        return Account(
            accepted=details["spec_num_correct_drafts"],
            drafted=details["spec_num_proposed_drafts"],
            verified=details["spec_verify_ct"],
        )
    if timings := told.get("timings"):
        return Account(timings.get("draft_n_accepted", 0), timings.get("draft_n", 0), None)
    return None
