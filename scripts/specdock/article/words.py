"""Words that are computed: what a verdict is called for a metric, and what codes mean."""

from typing import NamedTuple

from specdock.tables.validity import REASONS, REMARKS

NOT_RUN = "not run"
NOT_APPLICABLE = "n/a"
UNUSABLE = "unusable"
NOT_COMPARABLE = "not comparable"
NOT_STATED = "not stated"
ABSENCES = (NOT_RUN, NOT_APPLICABLE, UNUSABLE, NOT_COMPARABLE, NOT_STATED)


class Comparative(NamedTuple):
    """How `better` and `worse` are said of a metric."""

    better: str
    worse: str


_COMPARATIVES = {
    "output_rate": Comparative("faster", "slower"),
    "ttft_median": Comparative("quicker to the first token", "slower to the first token"),
    "tpot_median": Comparative("faster per token", "slower per token"),
    "latency_median": Comparative("quicker", "slower"),
    "prefill_rate": Comparative("faster in prefill", "slower in prefill"),
    "step_time": Comparative("quicker per step", "slower per step"),
    "accuracy": Comparative("more often correct", "less often correct"),
    "correct": Comparative("more often correct", "less often correct"),
    "identical_share": Comparative("more repeatable", "less repeatable"),
    "power": Comparative("lower in power", "higher in power"),
    "tokens_per_joule": Comparative("more efficient", "less efficient"),
    "joules_per_request": Comparative("more frugal", "less frugal"),
    "peak_memory": Comparative("smaller in memory", "larger in memory"),
}
_PLAIN = Comparative("better", "worse")
_WORDS = {
    "higher": "higher",
    "lower": "lower",
    "equivalent": "inside the noise",
    "undecided": "undecided",
    "incomparable": NOT_COMPARABLE,
}
_THAN = {
    "equivalent": "inside the noise of",
    "undecided": "not told apart from",
    "incomparable": "not comparable with",
}
VERDICTS = ("better", "higher", "equivalent", "undecided", "lower", "worse", "incomparable")


def verdict_word(metric: str, verdict: str) -> str:
    """`faster`, `slower`, `inside the noise`, `undecided`, `not comparable`."""
    if verdict in Comparative._fields:
        return getattr(_COMPARATIVES.get(metric, _PLAIN), verdict)
    return _WORDS[verdict]


def verdict_than(metric: str, verdict: str) -> str:
    """The same as a phrase between `is` and the other arm: `faster than`, `inside the noise of`."""
    return _THAN.get(verdict) or f"{verdict_word(metric, verdict)} than"


def meaning(code: str) -> str:
    """What a reason or remark code says to a reader; an unknown code stands for itself."""
    return (REASONS | REMARKS).get(code, code)
