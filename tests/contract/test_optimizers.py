"""The optimizer suite over the whole registry, and what single optimizers promise beyond it."""

import numpy as np
import pytest

from graphwright.planner.optimizers.registry import OPTIMIZERS

from .optimizer_suite import SKILL, OptimizerSuite, names, problem, score, search, trial


@pytest.fixture(params=names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestOptimizers(OptimizerSuite):
    """Adding a line to the registry adds a row here."""


def test_agent_reinforce_beats_every_single_call() -> None:
    """By two points in the mean of eight seeds, where random search is not better than one."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        optimizer = OPTIMIZERS["agent-reinforce"](problem(seed=seed))
        search(optimizer, 10, evaluate=lambda c, r=rng: trial(c, r.normal(0, 0.03)))
        found.append(score(optimizer.incumbent()))
    assert np.mean(found) > max(SKILL.values()) + 0.02
