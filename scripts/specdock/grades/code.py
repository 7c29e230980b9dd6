"""Grades an answer that is a Python function, as HumanEval does: right if the check passes.

HumanEval: Chen et al. 2021, arXiv:2107.03374. There the model completes the prompt; a chat model
answers with a fenced block, of which the first that defines the function is taken. It may use the
standard library only.
"""

import inspect
import json
import re
import secrets
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from specdock.grades import judge
from specdock.grades.sandbox import Sandbox
from specdock.grades.verdict import Verdict

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_TOP_LEVEL = re.compile(r"^(?:@|(?:async\s+)?def\s|class\s|import\s|from\s+\S+\s+import\b)", re.M)

# Where the judge gave no outcome: stopped at a limit, or killed by the answer.
_UNSAID = {"timeout": "timeout", "output": "error:output", "exit": "error:judge"}


@dataclass(frozen=True)
class Program:
    """Sources that run one after the other, the last of them what the model wrote.

    With `cut`, lines may be dropped from an end that is no Python: prose, or a truncated line.
    """

    sources: tuple[str, ...]
    cut: bool
    written: str


def extract(text: str, prompt: str, entry_point: str) -> Program | None:
    """The program in an answer, or None: a fenced block, a bare function, or a completion."""
    defines = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", re.M)
    blocks = [(match[1], not match[2]) for match in _FENCED.finditer(text)]
    for block, truncated in blocks:
        if defines.search(block):
            # The prompt goes first for its imports and helpers, which a model may leave out.
            return Program((prompt, textwrap.dedent(block)), truncated, block)
    start = _TOP_LEVEL.search(text)
    if start and defines.search(text):
        written = text[start.start() :]
        return Program((prompt, written), True, written)
    body = blocks[0][0] if blocks else text
    if body.lstrip("\n")[:1].isspace():
        return Program((f"{prompt}\n{body}",), True, body)
    return None


async def grade_code(text: str, problem: Mapping[str, str], sandbox: Sandbox) -> Verdict:
    """Runs the check of a HumanEval problem (`prompt`, `test`, `entry_point`) on an answer.

    Outcomes: `passed`, `wrong` (an assertion of the check), `error:NAME` (an exception, a signal,
    or `exit`), `timeout`, `memory`, `syntax`, `no-code`. Raises `SandboxError`.
    """
    program = extract(text, problem["prompt"], problem["entry_point"])
    if program is None:
        return Verdict(False, "no-code")
    seal = secrets.token_hex()
    task = {**problem, "sources": program.sources, "cut": program.cut, "seal": seal}
    ended = await sandbox.run(inspect.getsource(judge), json.dumps(task).encode())
    sealed, _, said = ended.output.decode(errors="replace").strip().partition(" ")
    outcome = said if sealed == seal else _UNSAID[ended.cause]
    return Verdict(outcome == "passed", outcome, program.written)
