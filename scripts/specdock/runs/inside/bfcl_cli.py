"""BFCL's own command line, run by its own environment, with every request of a case recorded.

Each line of a result file gets `calls`, the requests of the case in their order with times of the
machine's monotonic clock in seconds, and `cpu`, this process's CPU seconds before and after it.
"""

import threading
import time

from bfcl_eval import _llm_response_generation as generation
from bfcl_eval.__main__ import cli

_case = threading.local()
_build_handler, _infer = generation.build_handler, generation.multi_threaded_inference


def _recording_handler(*arguments):
    handler = _build_handler(*arguments)
    create = handler.client.completions.create

    def recorded(**body):
        call = {"body": body, "t_send": time.monotonic()}
        _case.calls.append(call)
        try:
            answer = create(**body)
        finally:
            call["t_end"] = time.monotonic()
        choice, usage = answer.choices[0], answer.usage.model_dump(mode="json")
        call |= {"text": choice.text, "finish_reason": choice.finish_reason, "usage": usage}
        return answer

    handler.client.completions.create = recorded
    return handler


def _recorded_inference(*arguments):
    _case.calls, cpu = [], time.process_time()
    result = _infer(*arguments)
    return result | {"calls": _case.calls, "cpu": [cpu, time.process_time()]}


if __name__ == "__main__":
    generation.build_handler = _recording_handler
    generation.multi_threaded_inference = _recorded_inference
    cli()
