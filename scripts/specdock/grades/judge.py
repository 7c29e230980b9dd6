"""Runs inside the sandbox: puts the check of a problem to an answer in a process of its own.

The process with the stranger's code only answers calls: arguments come and results go as plain data
over a socket, and the check is read after the two have parted. So there is no verdict to forge, no
expected value to read and no comparison to patch: to pass, an answer must return the right values.

Input: JSON with `prompt`, `test`, `entry_point`, `sources` and `cut` (see code.py), and `seal`.
Output: the seal, which the answer cannot know, and the outcome.
"""

import ctypes
import json
import os
import pickle
import random
import signal
import socket
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, BinaryIO, NoReturn

PR_SET_DUMPABLE = 4
EXACT = {int: int.__int__, float: float.__float__, str: str.__str__, bytes: bytes.__bytes__}


def main() -> None:
    """Parts from the process of the answer, reads the problem, prints the outcome."""
    # The process of the answer has the same user: it must not trace this one.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
    # Some checks draw their arguments.
    random.seed(0)
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        serve(there)
    there.close()
    problem = json.load(sys.stdin)
    print(problem["seal"], outcome(problem, Answer(child, here.makefile("rwb"))))


class Failed(Exception):
    """The answer gave no value; its text is the outcome."""


def outcome(problem: dict, answer: "Answer") -> str:
    """What comes of `check(entry_point)`."""
    names = {}
    try:
        answer(problem["sources"], problem["cut"], problem["entry_point"])
        exec(problem["prompt"], names)
        exec(problem["test"], names)
        # Checks call the function by its own name, too.
        names[problem["entry_point"]] = answer
        names["check"](answer)
    except Failed as failure:
        return str(failure)
    except AssertionError:
        return "wrong"
    except Exception as error:
        return f"error:{type(error).__name__}"
    return "passed"


class Data(pickle.Unpickler):
    """Reads numbers, strings and containers, and looks up no class or function."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


class Answer:
    """The function of the answer as the check calls it; its first call defines it."""

    def __init__(self, child: int, stream: BinaryIO):
        self._child = child
        self._stream = stream

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The plain value of a call; raises `Failed`."""
        question = pickle.dumps((arguments, named))
        try:
            self._stream.write(question)
            self._stream.flush()
            kind, value = Data(self._stream).load()
        except (EOFError, ConnectionError):
            raise Failed(self._end()) from None
        except Exception:
            raise Failed("error:unreadable") from None
        if kind == "value":
            return value
        if kind == "opaque":
            return object()
        if kind == "syntax":
            raise Failed("syntax")
        # The name comes from the stranger's process.
        name = value if isinstance(value, str) and value.isidentifier() else "Exception"
        raise Failed("memory" if name == "MemoryError" else f"error:{name[:80]}")

    def _end(self) -> str:
        _, status = os.waitpid(self._child, 0)
        if not os.WIFSIGNALED(status):
            return "error:exit"
        number = os.WTERMSIG(status)
        return "timeout" if number == signal.SIGXCPU else f"error:{signal.Signals(number).name}"


def serve(channel: socket.socket) -> NoReturn:
    """The process of the answer: the first question is its program, the others are calls."""
    # It gets neither the problem nor the place of the outcome.
    empty, end = os.pipe()
    os.close(end)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    stream = channel.makefile("rwb")
    function = None
    while True:
        arguments, named = pickle.load(stream)
        try:
            if function is None:
                function = define(*arguments)
                reply = ("value", None)
            else:
                reply = ("value", plain(function(*arguments, **named)))
        except Unparsable:
            reply = ("syntax", None)
        except Opaque:
            reply = ("opaque", None)
        except BaseException as error:
            reply = ("raised", type(error).__name__)
        stream.write(pickle.dumps(reply))
        stream.flush()


class Unparsable(Exception):
    """The program is not Python, or nothing is left of its function."""


class Opaque(Exception):
    """A result is no plain data, so it equals nothing."""


def define(sources: list[str], cut: bool, entry_point: str) -> Callable:
    """The function that the sources define, one after the other; `cut` as in `parse`."""
    codes = [parse(source, cut) for source in sources]
    names = {"__name__": "answer"}
    for code in codes:
        exec(code, names)
    if entry_point not in names:
        raise Unparsable
    return names[entry_point]


def parse(source: str, cut: bool) -> CodeType:
    """Code of the source or, with `cut`, of its longest beginning, in lines, that is Python."""
    lines = source.splitlines(keepends=True)
    end = len(lines)
    while end:
        try:
            return compile("".join(lines[:end]), "<answer>", "exec")
        except SyntaxError as error:
            # A beginning that reaches the line of the error has the error, too.
            end = min(end, error.lineno or end) - 1 if cut else 0
        except (ValueError, MemoryError, RecursionError):
            end = 0
    raise Unparsable


def plain(value: Any) -> Any:
    """The value without classes of the stranger: what it equals stays, what it is goes."""
    if value is None or isinstance(value, bool):
        return value
    for kind, exact in EXACT.items():
        if isinstance(value, kind):
            return exact(value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return kind(plain(item) for item in value)
    raise Opaque


if __name__ == "__main__":
    main()
