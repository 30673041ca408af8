"""The joint objective: accuracy up, latency down."""

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Scored(Protocol):
    """Anything with an accuracy in [0, 1] and a mean latency in seconds."""

    @property
    def score(self) -> float: ...
    @property
    def latency_seconds(self) -> float: ...


S = TypeVar("S", bound=Scored)


def dominates(one: Scored, other: Scored) -> bool:
    """Whether `one` is at least as good in both objectives and better in one."""
    at_least = one.score >= other.score and one.latency_seconds <= other.latency_seconds
    better = one.score > other.score or one.latency_seconds < other.latency_seconds
    return at_least and better


def pareto_front(points: Sequence[S]) -> list[S]:
    """The points that no other point dominates, by falling score (first of equals kept)."""
    front: list[S] = []
    for point in sorted(points, key=lambda p: (-p.score, p.latency_seconds)):
        if not front or point.latency_seconds < front[-1].latency_seconds:
            front.append(point)
    return front


def fastest_within(points: Sequence[S], tolerance: float) -> S:
    """The least latency among points whose score is within `tolerance` of the best.

    Raises:
        ValueError: there are no points.
    """
    if not points:
        raise ValueError("no points to choose from")
    best = max(point.score for point in points)
    eligible = [point for point in points if point.score >= best - tolerance]
    return min(eligible, key=lambda p: (p.latency_seconds, -p.score))
