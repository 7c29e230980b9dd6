"""The number of an answer is found as a reader would find it, and compared exactly."""

from decimal import Decimal

import pytest

from specdock.errors import SpecdockError
from specdock.grades.exact_match import exact_match, find_number


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("She has 3 + 4 = 7.\n#### 7", "7", "marker"),
        ("#### 5\nNo, wait.\n#### 6", "6", "marker"),
        ("#### 6\nI checked it 2 times.", "6", "marker"),
        ("#### **$1,234.50**", "1234.50", "marker"),
        ("#### -12.", "-12", "marker"),
        ("#### 1. First step\nWe get 9", "9", "last-number"),
        ("#### Step 2\nWe get 9 apples", "9", "last-number"),
        ("The answer is 18.", "18", "last-number"),
        ("The answer is 1,000,000 dollars.", "1000000", "last-number"),
        ("She picks rows 1,2,3", "3", "last-number"),
        ("That makes $18", "18", "last-number"),
        ("That makes US$18.", "18", "last-number"),
        ("He owes -$5", "-5", "last-number"),
        ("He owes $-5", "-5", "last-number"),
        ("It is \N{MINUS SIGN}5 degrees", "-5", "last-number"),
        ("We compute 10-5", "5", "last-number"),
        ("(3)-5", "5", "last-number"),
        ("so it is .5", "0.5", "last-number"),
        ("so it is...5", "5", "last-number"),
        ("3/4 of it", "0.75", "last-number"),
        (r"\boxed{\frac{3}{4}}", "0.75", "last-number"),
        (r"\boxed{12{,}345}", "12345", "last-number"),
        ("50%", "50", "last-number"),
        ("18km", "18", "last-number"),
        ("4 litres of H2O", "4", "last-number"),
        ("version 1.2.3", "1.2", "last-number"),
        ("5/0", "0", "last-number"),
    ],
)
def test_a_number_is_found_in(text, value, rule):
    found = find_number(text)
    assert found is not None
    assert (found[0], found[2]) == (Decimal(value), rule)


@pytest.mark.parametrize("text", ["", "I do not know.", "####", "x5 and H2O", "٣"])
def test_no_number_is_found_in(text):
    verdict = exact_match(text, "3")
    assert (verdict.correct, verdict.outcome, verdict.extracted) == (False, "no-number", None)


@pytest.mark.parametrize(
    ("text", "gold", "correct"),
    [
        ("18.00", "He has 9 + 9 = <<9+9=18>>18\n#### 18", True),
        ("0.1", "#### 0.1000", True),
        ("2/3", "4/6", True),
        ("180", "18", False),
        ("1,8", "18", False),
        ("-18", "18", False),
        # A float, or a rounded Decimal, would call these equal.
        ("9007199254740993", "9007199254740992", False),
        ("1" + "0" * 40, "1" + "0" * 39 + "1", False),
    ],
)
def test_numbers_are_compared_exactly(text, gold, correct):
    assert exact_match(text, gold).correct is correct


def test_the_graded_number_is_shown_as_it_was_written():
    assert exact_match("It costs $1,234.50.", "1234.5").extracted == "$1,234.50"
    assert exact_match("#### **-7**", "-7").extracted == "-7"


def test_a_loop_of_digits_is_a_wrong_answer_and_no_crash():
    assert exact_match("9" * 10_000, "9").correct is False


def test_a_gold_answer_without_a_number_is_refused():
    with pytest.raises(SpecdockError, match="holds no number"):
        exact_match("5", "five")
