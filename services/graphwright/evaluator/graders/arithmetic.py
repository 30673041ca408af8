"""Grading worked arithmetic by its final number."""

import re

from graphwright.search.messages import Grade

_FINAL = re.compile(r"=\s*(-?\d+)\s*$")


def grade_arithmetic(answer: str, reference: str) -> Grade:
    """1 if the number after the answer's last `=` is the reference's, else 0."""
    given, expected = _final_number(answer), _final_number(reference)
    if given is None:
        return Grade(score=0.0, reason="no final number")
    if given != expected:
        return Grade(score=0.0, reason=f"{given} instead of {expected}")
    return Grade(score=1.0, reason="right")


def _final_number(text: str) -> str | None:
    """The digits after the last `=`, without leading zeros.

    Kept as text: a model may write more digits than Python converts to an integer.
    """
    match = _FINAL.search(text)
    if match is None:
        return None
    sign, digits = ("-", match[1][1:]) if match[1].startswith("-") else ("", match[1])
    return (sign + digits.lstrip("0")) if digits.strip("0") else "0"
