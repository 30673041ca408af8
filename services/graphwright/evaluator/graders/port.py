"""The grader port: a pure function from (answer, reference) to a grade."""

from collections.abc import Callable

from graphwright.search.messages import Grade

Grader = Callable[[str, str], Grade]
