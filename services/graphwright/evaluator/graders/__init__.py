"""Graders by name. A grader never raises on a model's output."""

from collections.abc import Mapping

from graphwright.evaluator.graders.arithmetic import grade_arithmetic
from graphwright.evaluator.graders.port import Grader

GRADERS: Mapping[str, Grader] = {"arithmetic": grade_arithmetic}
"""Every grader that a task may name."""
