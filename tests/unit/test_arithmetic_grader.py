"""The arithmetic grader: right answers pass, and no output of a model makes it raise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.evaluator.graders.arithmetic import grade_arithmetic


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("1+2=3+4=7", 1),
        ("7=7", 1),
        ("garbled=007", 1),
        ("1+2=3+4=8", 0),
        ("1+2=3+4=", 0),
        ("7", 0),
        ("", 0),
        ("=-7", 0),
        ("=" + "9" * 10_000, 0),
        ("1+2=3+4=7 or 8", 0),
    ],
)
def test_the_number_after_the_last_equals_sign_counts(answer: str, score: float) -> None:
    assert grade_arithmetic(answer, "1+2=3+4=7").score == score


def test_zero_has_no_sign() -> None:
    assert grade_arithmetic("5-5=-0", "5-5=0").score == 1


@given(st.text())
def test_never_raises(answer: str) -> None:
    assert grade_arithmetic(answer, "1+2=3").score in (0, 1)
