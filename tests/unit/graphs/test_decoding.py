"""Decoding finds the most probable graph, and nothing decoded or sampled exceeds its budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.graphs.cost import FlopsCost, ModelSpec, TaskLengths, UnknownModelError
from graphwright.graphs.decoding import decode, map_draw, prune, sample_within
from graphwright.graphs.distribution import (
    Draw,
    GraphDistribution,
    gradients,
    log_probability,
    sample,
)
from graphwright.graphs.graph import Role

MODELS = ("small", "middle", "large")
COST = FlopsCost(
    [
        ModelSpec(name=name, family="f", parameters=size, layers=16, hidden_size=2048)
        for name, size in zip(MODELS, (1e9, 2e9, 5e9), strict=True)
    ],
    TaskLengths(prompt=200, output=100),
)


def distribution_of(n: int, seed: int, spread: float = 2.0) -> GraphDistribution:
    rng = np.random.default_rng(seed)
    shapes = ((n, n), (n, 2), (n, len(MODELS)))
    edges, roles, models = (spread * rng.normal(size=shape) for shape in shapes)
    return GraphDistribution(MODELS, edges, roles, models)


distributions = st.builds(distribution_of, n=st.integers(1, 10), seed=st.integers(0, 2**32 - 1))
seeds = st.integers(0, 2**32 - 1)


@given(distributions, st.floats(0, 1))
@settings(max_examples=100)
def test_the_most_probable_draw_keeps_every_node(
    distribution: GraphDistribution, threshold: float
) -> None:
    draw, p = map_draw(distribution, threshold), distribution.edge_probabilities()
    assert draw.kept() == tuple(range(distribution.n))
    for node in range(distribution.n - 1):
        likely = np.flatnonzero(p[node, node + 1 :] >= threshold) + node + 1
        gained = [int(node + 1 + p[node, node + 1 :].argmax())]
        assert np.flatnonzero(draw.adjacency[node]).tolist() == (likely.tolist() or gained)


@given(distributions)
@settings(max_examples=50)
def test_the_most_probable_choices_beat_all_others(distribution: GraphDistribution) -> None:
    """No other role or model at any node makes the same edges more probable."""
    draw = map_draw(distribution)
    best = log_probability(distribution, draw)
    for node in range(distribution.n):
        for role in range(2):
            roles = draw.roles.copy()
            roles[node] = role
            assert log_probability(distribution, Draw(draw.adjacency, roles, draw.models)) <= best
        for model in range(len(MODELS)):
            models = draw.models.copy()
            models[node] = model
            assert log_probability(distribution, Draw(draw.adjacency, draw.roles, models)) <= best


def test_equally_probable_repairs_lead_to_the_sink() -> None:
    draw = map_draw(GraphDistribution.uniform(4, MODELS, 0.02))
    assert np.argwhere(draw.adjacency).tolist() == [[0, 3], [1, 3], [2, 3]]


def test_nodes_that_need_not_stay_are_left_alone() -> None:
    """Node 0 must stay: its only likely edge ends in the idle node 1, so it gains another."""
    logits = np.full((4, 4), -3.0)
    logits[0, 1], logits[0, 2], logits[0, 3], logits[2, 3] = 2.0, -1.0, -2.0, 1.0
    distribution = GraphDistribution(MODELS, logits, np.zeros((4, 2)), np.zeros((4, 3)))
    assert map_draw(distribution, needed=()).kept() == (2, 3)
    repaired = map_draw(distribution, needed=(0,))
    assert repaired.kept() == (0, 2, 3)
    assert repaired.adjacency[0].tolist() == [False, True, True, False]
    assert map_draw(GraphDistribution.uniform(3, MODELS, 0.1), needed=()).kept() == (2,)


@given(distributions, st.floats(5, 40), st.floats(0, 1))
@settings(max_examples=100)
def test_a_decoded_graph_never_exceeds_its_budget(
    distribution: GraphDistribution, limit: float, threshold: float
) -> None:
    assert COST.units(decode(distribution, COST, limit, threshold)) <= limit


def test_decoding_prefers_what_is_probable() -> None:
    distribution = GraphDistribution.with_nodes(["middle", "small", "large"], 0.1)
    logits = np.array(distribution.edge_logits)
    logits[0, 1], logits[1, 2] = 2.0, 2.0
    chain = decode(
        GraphDistribution(
            distribution.models, logits, distribution.role_logits, distribution.model_logits
        ),
        COST,
        limit=12,
    )
    assert chain.edges == ((0, 1), (1, 2))
    assert [node.model for node in chain.nodes] == ["middle", "small", "large"]
    assert chain.nodes[-1].role is Role.FUSER
    assert chain.nodes[0].role is Role.ASSISTANT


@given(distributions, st.floats(5.5, 40), seeds, st.integers(0, 4))
@settings(max_examples=100)
def test_a_sampled_graph_never_exceeds_its_budget(
    distribution: GraphDistribution, limit: float, seed: int, attempts: int
) -> None:
    draw = sample_within(distribution, COST, limit, np.random.default_rng(seed), attempts)
    assert COST.units(draw.graph(distribution)) <= limit
    assert draw.n == distribution.n
    assert np.isfinite(log_probability(distribution, draw))
    assert gradients(distribution, draw).edge.shape == (draw.n, draw.n)


def test_draws_over_budget_are_rejected_before_one_is_pruned() -> None:
    """With room for two nodes of three, a patient sampler finds a whole draw."""
    distribution, limit = GraphDistribution.with_nodes(["small"] * 3, 0.7), 3.5

    def whole(seed: int, attempts: int) -> bool:
        draw = sample_within(distribution, COST, limit, np.random.default_rng(seed), attempts)
        rng = np.random.default_rng(seed)
        return draw in [sample(distribution, rng) for _ in range(max(attempts, 1))]

    assert np.mean([whole(seed, 1) for seed in range(100)]) < 0.5
    assert all(whole(seed, 100) for seed in range(100))


def test_the_pruned_sample_is_the_pruned_last_draw() -> None:
    distribution, limit = GraphDistribution.uniform(8, MODELS, 0.9), 6.0
    found = sample_within(distribution, COST, limit, np.random.default_rng(5), attempts=3)
    rng = np.random.default_rng(5)
    last = [sample(distribution, rng) for _ in range(3)][-1]
    pruned, rest, removed = prune(last, distribution, COST, limit)
    assert removed
    assert found == last.silenced(removed)
    assert found.graph(distribution) == pruned.graph(rest)


def test_an_unknown_model_is_not_guessed() -> None:
    with pytest.raises(UnknownModelError, match="'huge'"):
        decode(GraphDistribution.uniform(2, ["huge"], 0.5), COST, 10)
