"""The arithmetic task: what its questions look like, and that none of them leaks into training."""

import random
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.tasks import arithmetic


@pytest.fixture(scope="module")
def drawn() -> list[str]:
    rng = random.Random(1)
    return [arithmetic.generate(rng) for _ in range(2000)]


def test_the_worked_answer_shows_every_running_total() -> None:
    assert arithmetic.solve("247+38-125+361") == "247+38=285-125=160+361=521"
    assert arithmetic.answer("247+38-125+361") == 521


def test_generated_questions_keep_to_the_stated_sizes(drawn: list[str]) -> None:
    for question in drawn:
        terms = arithmetic.terms(question)
        assert arithmetic.MIN_OPERANDS <= len(terms) <= arithmetic.MAX_OPERANDS
        assert all(1 <= abs(term) <= arithmetic.MAX_OPERAND for term in terms)
        assert min(accumulate(terms)) >= 0


def test_the_answer_is_the_last_number_of_the_worked_answer(drawn: list[str]) -> None:
    for question in drawn:
        assert int(arithmetic.solve(question).rsplit("=", 1)[1]) == arithmetic.answer(question)


def test_about_a_tenth_is_held_out(drawn: list[str]) -> None:
    share = sum(map(arithmetic.is_held_out, drawn)) / len(drawn)
    assert 0.08 < share < 0.125


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 40))
def test_a_longer_list_begins_with_the_shorter_one(seed: int, short: int, more: int) -> None:
    longer = arithmetic.questions(seed, short + more)
    assert arithmetic.questions(seed, short) == longer[:short]
    assert len({question for question, _ in longer}) == short + more


def test_task_questions_are_held_out_and_carry_their_solution() -> None:
    for question, reference in arithmetic.questions(5, 300):
        assert arithmetic.is_held_out(question)
        assert reference == arithmetic.solve(question)


def test_different_seeds_give_different_questions() -> None:
    assert set(arithmetic.questions(1, 50)).isdisjoint(arithmetic.questions(2, 50))


@pytest.mark.parametrize("text", ["", "12", "12+", "1++2", "1*2", "1+2=3", " 1+2", "a+b"])
def test_what_is_not_a_question_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a chain"):
        arithmetic.solve(text)
