import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specdock.article.arithmetic import ArithmeticDisagrees, settle
from specdock.article.forms import Form
from specdock.article.printed import Link, Number, Place

PLACE = Place("article.md.j2", 7)
CLAIM = Link("claims/estimates.parquet", "row")


def estimate(arm: str, value: float, digits: int = 1, pinned: bool = False) -> Number:
    return Number(
        id=f"output_rate/{arm}/essays@1" + (f"/{digits}" if pinned else ""),
        kind="estimate",
        title=f"output rate, {arm}",
        link=CLAIM,
        value=value,
        digits=digits,
        pinned=pinned,
        metric="output_rate",
        arm=arm,
        scenario="essays@1",
    )


def ratio(value: float, form: Form | None = None, digits: int = 2) -> Number:
    return Number(
        id="ratio",
        kind="ratio",
        title="output rate, a against b",
        link=CLAIM,
        form=form or Form(suffix="×"),
        value=value,
        digits=digits,
        parts=("output_rate/a/essays@1", "output_rate/b/essays@1"),
    )


def settled(*numbers: Number) -> dict[str, str]:
    return {key: text for key, (text, _) in settle((n, PLACE) for n in numbers).items()}


def figure(text: str) -> float:
    return float(text.rstrip("×% ").replace("−", "-").replace("+", "").replace(",", ""))


def test_values_grow_decimals_until_their_quotient_is_the_printed_ratio():
    printed = settled(estimate("a", 303.3), estimate("b", 140.4), ratio(303.3 / 140.4))
    assert list(printed.values()) == ["303.3", "140.4", "2.16×"]
    printed = settled(estimate("a", 30.16), estimate("b", 10.04), ratio(30.16 / 10.04))
    assert list(printed.values()) == ["30.16", "10.04", "3.00×"]


def test_a_ratio_alone_widens_nothing():
    assert list(settled(estimate("a", 30.16), ratio(30.16 / 10.04)).values()) == ["30.2", "3.00×"]


def test_pinned_decimals_that_disagree_fail_and_name_the_number_to_widen():
    with pytest.raises(ArithmeticDisagrees) as error:
        settled(
            estimate("a", 1.46, 1, pinned=True),
            estimate("b", 0.74, 1, pinned=True),
            ratio(1.46 / 0.74),
        )
    assert "1.97× beside 1.5 and 0.7" in str(error.value)
    assert "output rate, b at article/article.md.j2:7: digits=2" in str(error.value)


def test_a_claim_that_is_not_the_ratio_of_its_estimates_fails():
    with pytest.raises(ArithmeticDisagrees, match="must take the comparison from the same cells"):
        settled(estimate("a", 15.2), estimate("b", 14.0), ratio(1.2))


@given(
    st.floats(0.01, 5000),
    st.floats(0.01, 5000),
    st.sampled_from([Form(suffix="×"), Form(offset=1, scale=100, signed=True, suffix=" %")]),
)
def test_any_ratio_on_the_page_can_be_checked_by_dividing(a, b, form):
    assume(0.02 < a / b < 50)
    printed = settled(estimate("a", a), estimate("b", b), ratio(a / b, form, 1))
    left, right = (figure(printed[f"output_rate/{arm}/essays@1"]) for arm in "ab")
    assert abs(form.shown(left / right) - figure(printed["ratio"])) <= 0.06 + 1e-9
