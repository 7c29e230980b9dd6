"""How an exact value becomes printed text: digits, sign, thousands, unit, interval."""

import math
from dataclasses import dataclass

LEAST_SIGNIFICANT = 3


@dataclass(frozen=True)
class Form:
    """One way to print: `(value - offset) * scale`, then sign, interval and suffix."""

    shape: str = "value"  # value, interval, both
    offset: float = 0.0
    scale: float = 1.0
    signed: bool = False
    suffix: str = ""

    def shown(self, value: float) -> float:
        """The value in the scale in which it is printed."""
        return (value - self.offset) * self.scale

    def text(self, value: float | None, low: float | None, high: float | None, digits: int) -> str:
        """The printed text; a missing interval is said in words."""
        if self.shape == "interval":
            return (
                self._interval(low, high, digits) + self.suffix
                if low is not None
                else "no interval"
            )
        shown = decimal(self.shown(value), digits, self.signed) + self.suffix
        if self.shape == "both" and low is not None:
            shown += f" ({self._interval(low, high, digits)})"
        return shown

    def _interval(self, low: float, high: float, digits: int) -> str:
        ends = (decimal(self.shown(end), digits, self.signed) for end in (low, high))
        return " to ".join(ends)


PLAIN = Form()


def decimal(value: float, digits: int, signed: bool = False) -> str:
    """Thousands by commas, a true minus sign, and no sign on a rounded zero."""
    text = f"{abs(value):,.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        return text
    return ("−" if value < 0 else "+" if signed else "") + text


def least_digits(value: float, digits: int) -> int:
    """Decimals that show at least three significant digits, and at least `digits`."""
    if value == 0 or not math.isfinite(value):
        return digits
    return max(digits, LEAST_SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
