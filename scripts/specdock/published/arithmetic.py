"""Recomputes printed ratios and differences from the printed figures that they are made of."""

from collections.abc import Callable
from itertools import product

from specdock.plan.problems import Problem
from specdock.published.ledger import Figure, Ledger

MADE_BY: dict[str, Callable[[float, float], float]] = {
    "ratio": lambda of, against: of / against,
    "inverse": lambda of, against: against / of,
    "change": lambda of, against: 100 * (of / against - 1),
    "share": lambda of, against: 100 * of / against,
    "difference": lambda of, against: of - against,
}


def wrong_figures(ledger: Ledger) -> list[Problem]:
    """Derived figures that do not follow from their two, and those that `disagrees` calls wrong
    although they do."""
    figures = {figure.id: figure for figure in ledger.figures}
    problems = []
    for figure in ledger.figures:
        if figure.of is None or figure.against is None:
            continue
        low, high = possible_values(figure, figures[figure.of], figures[figure.against])
        follows = low <= figure.value <= high
        if follows == (figure.disagrees is not None):
            found = f"{figure.value:g}, where its two figures give {low:.4g} to {high:.4g}"
            hint = "remove `disagrees`" if follows else "correct it, or say why in `disagrees`"
            problems.append(Problem(ledger.article, figure.id, found, hint=hint))
    return problems


def possible_values(figure: Figure, of: Figure, against: Figure) -> tuple[float, float]:
    """Lowest and highest value that may be printed, given how all three figures are rounded."""
    values = [MADE_BY[figure.form](a, b) for a, b in product(_range(of), _range(against))]
    rounding = _half_digit(figure)
    return min(values) - rounding, max(values) + rounding


def _range(figure: Figure) -> tuple[float, float]:
    return figure.value - _half_digit(figure), figure.value + _half_digit(figure)


def _half_digit(figure: Figure) -> float:
    return 0.5 * 10**-figure.decimals
