import pytest

from specdock.article.forms import Form, decimal, least_digits


@pytest.mark.parametrize(
    ("value", "digits", "signed", "text"),
    [
        (1617.46, 1, False, "1,617.5"),
        (-0.04, 1, True, "0.0"),
        (-3.26, 1, False, "−3.3"),
        (15.22, 1, True, "+15.2"),
        (0.0, 0, True, "0"),
    ],
)
def test_decimals_have_thousands_a_true_minus_and_no_signed_zero(value, digits, signed, text):
    assert decimal(value, digits, signed) == text


def test_a_ratio_prints_as_times_and_as_a_signed_change():
    assert Form(suffix="×").text(2.1603, None, None, 2) == "2.16×"
    assert Form(offset=1, scale=100, signed=True, suffix=" %").text(0.95, None, None, 1) == "−5.0 %"


def test_an_interval_is_printed_behind_the_value_and_its_unit():
    assert Form("both", suffix=" tok/s").text(29.04, 27.51, 30.6, 1) == "29.0 tok/s (27.5 to 30.6)"
    assert Form("interval").text(None, 1.18, 1.43, 2) == "1.18 to 1.43"


def test_a_missing_interval_is_said_and_not_left_out():
    assert Form("interval").text(2.0, None, None, 1) == "no interval"
    assert Form("both").text(2.0, None, None, 1) == "2.0"


@pytest.mark.parametrize(
    ("value", "digits", "least"), [(1617.5, 1, 1), (24.6, 0, 1), (0.74, 1, 3), (0.0, 1, 1)]
)
def test_small_values_show_three_significant_digits(value, digits, least):
    assert least_digits(value, digits) == least
