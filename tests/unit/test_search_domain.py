"""The search package: specifications, call identity, the joint objective."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from graphwright.search.budget import Budget
from graphwright.search.calls import Sampling, call_key, call_seed
from graphwright.search.objective import dominates, fastest_within, pareto_front
from graphwright.search.spec import SearchSpec
from graphwright.search.trial import Usage


@dataclass(frozen=True)
class Point:
    score: float
    latency_seconds: float


points = st.lists(
    st.builds(
        Point,
        st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
        st.sampled_from([0.1, 0.2, 0.4, 0.8, 1.6]),
    ),
    min_size=1,
    max_size=30,
)


@given(points)
def test_the_pareto_front_is_what_nothing_dominates(found: list[Point]) -> None:
    front = pareto_front(found)
    undominated = {p for p in found if not any(dominates(other, p) for other in found)}
    assert set(front) == undominated
    assert len(front) == len(undominated)
    assert front == sorted(front, key=lambda point: -point.score)


@given(points, st.floats(0, 1))
def test_the_fastest_within_a_tolerance_gives_up_no_more_than_that(
    found: list[Point], tolerance: float
) -> None:
    chosen = fastest_within(found, tolerance)
    best = max(point.score for point in found)
    assert chosen.score >= best - tolerance
    eligible = [point for point in found if point.score >= best - tolerance]
    assert chosen.latency_seconds == min(point.latency_seconds for point in eligible)


def test_there_is_no_fastest_of_nothing() -> None:
    with pytest.raises(ValueError, match="no points"):
        fastest_within([], 0.1)


SAMPLING = Sampling(max_tokens=8, stop=("\n",))


@given(st.text(max_size=8), st.text(max_size=8), st.integers(0, 2**63 - 1))
def test_a_call_key_changes_with_every_argument(model: str, prompt: str, seed: int) -> None:
    base = call_key(model, prompt, SAMPLING, seed)
    assert base == call_key(model, prompt, SAMPLING, seed)
    warmer = SAMPLING.model_copy(update={"temperature": 1.0})
    others = {
        call_key(model + "x", prompt, SAMPLING, seed),
        call_key(model, prompt + "x", SAMPLING, seed),
        call_key(model, prompt, warmer, seed),
        call_key(model, prompt, SAMPLING, seed + 1),
    }
    assert base not in others
    assert len(others) == 4


def test_parts_of_a_call_do_not_run_into_each_other() -> None:
    assert call_key("ab", "c", SAMPLING, 0) != call_key("a", "bc", SAMPLING, 0)
    assert call_seed(1, "ab", "c", "d") != call_seed(1, "a", "bc", "d")


@given(st.integers(0, 2**63 - 1), st.text(max_size=5), st.text(max_size=5), st.text(max_size=5))
def test_call_seeds_are_63_bits(seed: int, epoch: str, question: str, signature: str) -> None:
    assert 0 <= call_seed(seed, epoch, question, signature) < 2**63


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", -1),
        ("iterations", 0),
        ("graphs", 0),
        ("batch", 0),
        ("top_p", 0),
        ("task", "a b"),
        ("colour", "red"),
    ],
)
def test_a_specification_refuses_nonsense(field: str, value: object) -> None:
    good = {"task": "t", "pool": "p", "budget": Budget(limit=1)}
    SearchSpec.model_validate(good)
    with pytest.raises(ValidationError, match=field):
        SearchSpec.model_validate(good | {field: value})


def test_usage_adds_up_field_by_field() -> None:
    one = Usage(calls=1, executed_calls=2, prompt_tokens=3, output_tokens=4, flops=5, usd=6)
    assert one + one == Usage(
        calls=2, executed_calls=4, prompt_tokens=6, output_tokens=8, flops=10, usd=12
    )
