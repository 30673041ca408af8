"""Multi-step arithmetic: questions, worked answers and the split that keeps tests honest.

A question is a chain of additions and subtractions of natural numbers, read from left to right,
such as ``47+38-25+61+9``. Its worked answer repeats the chain with every running total, so that a
mistake shows where it was made: ``47+38=85-25=60+61=121+9=130``. The answer proper is the number
after the last ``=``.

A question whose text hashes below `HELD_OUT_BELOW` is held out: no pocket model is ever trained on
it, and every task set is drawn from such questions only.
"""

import hashlib
import random
import re

MIN_OPERANDS = 5
MAX_OPERANDS = 7
MAX_OPERAND = 99
HELD_OUT_BELOW = 26
"""Of the 256 values of the first byte of the question's SHA-256: about one question in ten."""

_TERM = re.compile(r"([+-]?)(\d+)")


def generate(rng: random.Random) -> str:
    """Draw one question; its running totals never fall below zero."""
    total = rng.randint(1, MAX_OPERAND)
    terms = [str(total)]
    for _ in range(rng.randint(MIN_OPERANDS, MAX_OPERANDS) - 1):
        if total > 0 and rng.random() < 0.5:
            operand = rng.randint(1, min(MAX_OPERAND, total))
            terms.append(f"-{operand}")
            total -= operand
        else:
            operand = rng.randint(1, MAX_OPERAND)
            terms.append(f"+{operand}")
            total += operand
    return "".join(terms)


def terms(question: str) -> list[int]:
    """The signed operands of a question, in order; `ValueError` if it is not a question."""
    found = _TERM.findall(question)
    if "".join(sign + digits for sign, digits in found) != question or len(found) < 2:
        raise ValueError(f"not a chain of additions and subtractions: {question!r}")
    return [int(sign + digits) for sign, digits in found]


def solve(question: str) -> str:
    """The worked answer: the question with the running total after every step."""
    first, *rest = terms(question)
    total, parts = first, [str(first)]
    for term in rest:
        total += term
        parts.append(f"{term:+d}={total}")
    return "".join(parts)


def answer(question: str) -> int:
    """The number that the question comes to."""
    return sum(terms(question))


def is_held_out(question: str) -> bool:
    """Whether the question belongs to the part that no model is trained on."""
    return hashlib.sha256(question.encode()).digest()[0] < HELD_OUT_BELOW


def questions(seed: int, count: int) -> list[tuple[str, str]]:
    """`count` distinct held-out questions with their worked answers.

    The same seed gives the same list, and a longer list begins with the shorter one.
    """
    rng = random.Random(f"arithmetic/{seed}")
    drawn: dict[str, str] = {}
    while len(drawn) < count:
        question = generate(rng)
        if is_held_out(question):
            drawn.setdefault(question, solve(question))
    return list(drawn.items())
