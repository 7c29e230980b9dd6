"""Settles how many decimals each number shows, so that a reader who divides two printed values gets
the printed ratio.

A ratio is computed from the exact values. Where the printed ones give another ratio, their decimals
grow until both agree to the ratio's rounding; decimals that a template pinned do not grow, and then
the build fails and names the number to widen.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import product

from specdock.article.forms import least_digits
from specdock.article.printed import Number, Place, TemplateError

MOST_EXTRA_DIGITS = 4
SAME = 1e-6
# Half a unit is the ratio's own rounding; a tenth more is left to the parts, or a value on the edge
# of two roundings could never be settled.
UNITS = 0.6


class ArithmeticDisagrees(TemplateError):
    """A printed ratio or difference that its printed parts do not give."""


def settle(numbers: Iterable[tuple[Number, Place]]) -> dict[str, tuple[str, int]]:
    """Printed text and decimals by id; raises `ArithmeticDisagrees`."""
    numbers = list(numbers)
    digits = _first_digits([number for number, _ in numbers])
    measured: dict[str, list[tuple[Number, Place]]] = defaultdict(list)
    for number, place in numbers:
        if (
            number.kind == "estimate"
            and number.value is not None
            and number.form.shape != "interval"
        ):
            measured[f"{number.metric}/{number.arm}/{number.scenario}"].append((number, place))
    for number, place in numbers:
        if number.value is not None and number.parts and number.form.shape != "interval":
            for of, to in product(*(measured[part] for part in number.parts)):
                _agree(number, place, of, to, digits)
    decimals = {number.id: digits[number.group] for number, _ in numbers}
    return {n.id: (n.text(decimals[n.id]), decimals[n.id]) for n, _ in numbers}


def _first_digits(numbers: list[Number]) -> dict[tuple[str, ...], int]:
    digits: dict[tuple[str, ...], int] = defaultdict(int)
    for number in numbers:
        least = number.digits
        if (
            number.kind == "estimate"
            and number.value
            and not number.pinned
            and number.form.scale == 1
        ):
            least = least_digits(number.value, least)
        digits[number.group] = max(digits[number.group], least)
    return digits


def _agree(
    number: Number,
    place: Place,
    of: tuple[Number, Place],
    to: tuple[Number, Place],
    digits: dict[tuple[str, ...], int],
) -> None:
    exact = _combine(number, of[0].value, to[0].value)
    if abs(exact - number.value) > SAME * max(abs(number.value), SAME):
        raise ArithmeticDisagrees(
            f"{place}: {number.title}\n"
            f"  found    {number.value:.6g} in {number.link.file} ({number.link.row})\n"
            f"  allowed  {exact:.6g}, from {of[0].value:.6g} and {to[0].value:.6g}"
            f" in {of[0].link.file}\n"
            "  the claims must take the comparison from the same cells as the two estimates"
        )
    parts = [of, to]
    for _ in range(MOST_EXTRA_DIGITS):
        if _same_on_the_page(number, of[0], to[0], digits):
            return
        free = {part.group for part, _ in parts if not part.pinned}
        if not free:
            break
        for group in free:
            digits[group] += 1
    if _same_on_the_page(number, of[0], to[0], digits):
        return
    coarse, where = max(parts, key=lambda part: _rounding(part[0], digits))
    shown = [part.text(digits[part.group]) for part in (number, of[0], to[0])]
    raise ArithmeticDisagrees(
        f"{place}: {number.title}\n"
        f"  found    {shown[0]} beside {shown[1]} and {shown[2]}, which do not give it\n"
        f"  widen    {coarse.title} at {where}: digits={digits[coarse.group] + 1}"
    )


def _same_on_the_page(
    number: Number, of: Number, to: Number, digits: dict[tuple[str, ...], int]
) -> bool:
    left, right = (_printed_value(part, digits[part.group]) for part in (of, to))
    if right == 0 and number.kind == "ratio":
        return False
    places = digits[number.group]
    recomputed = number.form.shown(_combine(number, left, right))
    printed = round(number.form.shown(number.value), places)
    return abs(recomputed - printed) <= UNITS * 10**-places


def _combine(number: Number, left: float, right: float) -> float:
    return left / right if number.kind == "ratio" else left - right


def _printed_value(number: Number, digits: int) -> float:
    return round(number.form.shown(number.value), digits) / number.form.scale


def _rounding(number: Number, digits: dict[tuple[str, ...], int]) -> float:
    """Relative rounding of a printed value: the coarser one is to be widened."""
    return 10 ** -digits[number.group] / abs(number.form.shown(number.value) or 1)
