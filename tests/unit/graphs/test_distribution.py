"""The probability of a draw is exact, and its gradient is the derivative."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.graphs.distribution import (
    Draw,
    GraphDistribution,
    InvalidLogits,
    gradients,
    log_probability,
    sample,
)
from graphwright.graphs.graph import Node, Role


def random_distribution(
    n: int, m: int, seed: int, *, alpha: float = 1.1, literal: bool = False, spread: float = 1.0
) -> GraphDistribution:
    rng = np.random.default_rng(seed)
    return GraphDistribution(
        models=tuple("abcdefgh"[:m]),
        edge_logits=spread * rng.normal(size=(n, n)),
        role_logits=spread * rng.normal(size=(n, 2)),
        model_logits=spread * rng.normal(size=(n, m)),
        alpha=alpha,
        literal_roles=literal,
    )


def every_draw(n: int, m: int) -> Iterator[Draw]:
    above = np.triu_indices(n, k=1)
    for edges in product((False, True), repeat=len(above[0])):
        adjacency = np.zeros((n, n), dtype=np.bool_)
        adjacency[above] = edges
        for roles, models in product(product((0, 1), repeat=n), product(range(m), repeat=n)):
            yield Draw(adjacency, np.array(roles), np.array(models))


distributions = st.builds(
    random_distribution,
    n=st.integers(1, 7),
    m=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
    alpha=st.floats(1, 1.5),
    literal=st.booleans(),
    spread=st.floats(0, 30),
)


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 3), (3, 2), (4, 2)])
def test_probabilities_of_all_draws_sum_to_one(n: int, m: int, literal: bool) -> None:
    distribution = random_distribution(n, m, seed=n, literal=literal, alpha=1.3)
    total = sum(np.exp(log_probability(distribution, draw)) for draw in every_draw(n, m))
    assert total == pytest.approx(1, rel=1e-12)


def test_the_score_has_mean_zero() -> None:
    """Equation 5 without utility: the gradient of a constant."""
    distribution = random_distribution(3, 2, seed=4)
    draws = list(every_draw(3, 2))
    weights = np.exp([log_probability(distribution, draw) for draw in draws])
    scores = [gradients(distribution, draw) for draw in draws]
    for table in ("edge", "role", "model"):
        mean = np.tensordot(weights, [getattr(score, table) for score in scores], axes=1)
        assert np.abs(mean).max() < 1e-12


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("field", ["edge_logits", "role_logits", "model_logits"])
def test_gradients_equal_finite_differences(field: str, literal: bool) -> None:
    distribution = random_distribution(5, 3, seed=7, literal=literal, alpha=1.3)
    draw = sample(distribution, np.random.default_rng(1))
    assert draw.in_degrees().max() > 1
    gradient = getattr(gradients(distribution, draw), field.removesuffix("_logits"))
    logits = getattr(distribution, field)
    for place in np.ndindex(logits.shape):
        step = np.zeros(logits.shape)
        step[place] = 1e-5
        ahead = log_probability(replace(distribution, **{field: logits + step}), draw)
        behind = log_probability(replace(distribution, **{field: logits - step}), draw)
        assert gradient[place] == pytest.approx((ahead - behind) / 2e-5, abs=1e-8)


def test_frequencies_match_probabilities() -> None:
    """Every draw of a small distribution within 5 standard errors: fails 1 in 10,000 seeds."""
    distribution = random_distribution(2, 2, seed=3, alpha=1.5)
    rng, trials = np.random.default_rng(11), 20_000
    counts = Counter(sample(distribution, rng) for _ in range(trials))
    for draw in every_draw(2, 2):
        p = float(np.exp(log_probability(distribution, draw)))
        assert abs(counts[draw] - trials * p) < 5 * np.sqrt(trials * p * (1 - p))


def test_predecessors_favour_the_fuser() -> None:
    """The bias does what A.11 says alpha is for, whatever the sign of the role logits."""
    roles = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
    distribution = replace(GraphDistribution.uniform(3, ["m"], 0.5), role_logits=roles, alpha=1.1)
    degrees = np.array([0, 1, 2])
    expected = [0, np.log(1.1), -1 + 2 * np.log(1.1)]
    assert distribution.fuser_logits(degrees) == pytest.approx(expected)
    printed = replace(distribution, literal_roles=True)
    assert printed.fuser_logits(degrees) == pytest.approx([0, 0, -(1.1**2)])


@given(distributions, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_draws_are_acyclic_and_their_graphs_are_sound(
    distribution: GraphDistribution, seed: int
) -> None:
    draw = sample(distribution, np.random.default_rng(seed))
    assert not np.tril(draw.adjacency).any()
    graph, kept = draw.graph(distribution), draw.kept()
    named = [Node(role=tuple(Role)[draw.roles[k]], model=distribution.models[draw.models[k]])
             for k in kept]  # fmt: skip
    assert graph.nodes == tuple(named)
    assert {(kept[s], kept[t]) for s, t in graph.edges} == {
        (s, t) for s, t in np.argwhere(draw.adjacency).tolist() if s in kept and t in kept
    }
    assert [graph.in_degree(k) for k in range(len(kept))] == draw.in_degrees()[[*kept]].tolist()


@given(distributions, st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_one_seed_gives_one_draw_and_it_has_a_probability(
    distribution: GraphDistribution, seed: int
) -> None:
    one, other = (sample(distribution, np.random.default_rng(seed)) for _ in range(2))
    assert one == other
    assert -np.inf < log_probability(distribution, one) <= 0


@given(distributions, st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_json_round_trip(distribution: GraphDistribution, seed: int) -> None:
    text = json.dumps(distribution.to_json())
    again = GraphDistribution.from_json(json.loads(text))
    assert again == distribution
    assert hash(again) == hash(distribution)
    draw = sample(distribution, np.random.default_rng(seed))
    assert Draw.from_json(json.loads(json.dumps(draw.to_json()))) == draw
    assert sample(again, np.random.default_rng(seed)) == draw


@given(distributions, st.data())
@settings(max_examples=50)
def test_nodes_leave_every_table_alike(
    distribution: GraphDistribution, data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.integers(0, distribution.n - 2))) if distribution.n > 1 else set()
    rest, stay = distribution.without(gone), sorted(set(range(distribution.n)) - gone)
    square = np.ix_(stay, stay)
    assert np.array_equal(rest.edge_logits, distribution.edge_logits[square])
    assert np.array_equal(rest.role_logits, distribution.role_logits[stay])
    assert np.array_equal(rest.model_logits, distribution.model_logits[stay])
    assert np.array_equal(rest.edge_probabilities(), distribution.edge_probabilities()[square])


def test_the_sink_and_strangers_cannot_be_left_out() -> None:
    distribution = GraphDistribution.uniform(3, ["m"], 0.5)
    for nodes in ([2], [-1], [7], [0, 2]):
        with pytest.raises(InvalidLogits, match=r"must be within 0\.\.1"):
            distribution.without(nodes)


@pytest.mark.parametrize("p", [0.02, 0.5, 0.9])
def test_uniform_edges_have_the_given_probability(p: float) -> None:
    distribution = GraphDistribution.uniform(4, ["a", "b"], p)
    assert distribution.edge_probabilities() == pytest.approx(np.triu(np.full((4, 4), p), k=1))
    assert (distribution.n, distribution.m) == (4, 2)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_edges_stay_finite(p: float) -> None:
    distribution = GraphDistribution.uniform(2, ["m"], p)
    assert distribution.edge_probabilities()[0, 1] == pytest.approx(p, abs=2e-6)
    assert np.isfinite(distribution.edge_logits).all()


def test_fixed_nodes_draw_their_models_and_the_sink_its_role() -> None:
    distribution = GraphDistribution.with_nodes(["b", "a", "b"], 0.5)
    assert distribution.models == ("b", "a")
    rng = np.random.default_rng(0)
    draws = [sample(distribution, rng) for _ in range(300)]
    assert {tuple(draw.models.tolist()) for draw in draws} == {(0, 1, 0)}
    assert {int(draw.roles[2]) for draw in draws} == {1}
    assert {int(draw.roles[0]) for draw in draws} == {0, 1}
    free = GraphDistribution.with_nodes(["a", "a"], 0.5, sink_role=None)
    assert not free.role_logits.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_logits": np.zeros((3, 2))}, "edge_logits must have shape"),
        ({"role_logits": np.zeros((3, 3))}, "role_logits must have shape"),
        ({"model_logits": np.zeros((2, 1))}, "model_logits must have shape"),
        ({"model_logits": np.full((3, 1), np.nan)}, "model_logits must be finite"),
        ({"edge_logits": np.full((3, 3), np.inf)}, "edge_logits must be finite"),
        ({"models": ()}, "models must be distinct"),
        ({"models": ("m", "m"), "model_logits": np.zeros((3, 2))}, "models must be distinct"),
        ({"alpha": 0.0}, "alpha must be positive"),
    ],
)
def test_what_is_no_distribution_is_refused(change: dict[str, object], message: str) -> None:
    sound = GraphDistribution.uniform(3, ["m"], 0.5)
    with pytest.raises(InvalidLogits, match=message):
        GraphDistribution(**{**vars_of(sound), **change})  # type: ignore[arg-type]


def vars_of(distribution: GraphDistribution) -> dict[str, object]:
    names = ("models", "edge_logits", "role_logits", "model_logits", "alpha", "literal_roles")
    return {name: getattr(distribution, name) for name in names}


def test_an_impossible_probability_is_refused() -> None:
    with pytest.raises(InvalidLogits, match=r"edge_probability must be within 0\.\.1, not 1\.5"):
        GraphDistribution.uniform(2, ["m"], 1.5)


def test_logits_of_descending_edges_are_forgotten() -> None:
    tables = np.zeros((2, 2)), np.zeros((2, 1))
    one = GraphDistribution(("m",), np.full((2, 2), 3.0), *tables)
    other = GraphDistribution(("m",), np.array([[-1.0, 3.0], [-2.0, 7.0]]), *tables)
    assert one == other
    assert one.edge_logits.tolist() == [[0, 3], [0, 0]]


def test_parameters_are_copied_and_read_only() -> None:
    logits = np.zeros((2, 2))
    distribution = GraphDistribution(("m",), logits, np.zeros((2, 2)), np.zeros((2, 1)))
    logits[0, 1] = 9
    assert not distribution.edge_logits.any()
    with pytest.raises(ValueError, match="read-only"):
        distribution.edge_logits[0, 1] = 9
    with pytest.raises(ValueError, match="read-only"):
        distribution.edge_probabilities()[0, 1] = 9


@pytest.mark.parametrize("logit", [-1e4, 1e4])
def test_extreme_logits_do_not_overflow(logit: float) -> None:
    extreme = GraphDistribution(
        ("a", "b"), np.full((3, 3), logit), np.full((3, 2), [0, logit]), np.full((3, 2), [0, logit])
    )
    with np.errstate(all="raise", under="ignore"):
        draw = sample(extreme, np.random.default_rng(0))
        assert log_probability(extreme, draw) == pytest.approx(0)
        score = gradients(extreme, draw)
    assert all(np.abs(table).max() < 1e-9 for table in (score.edge, score.role, score.model))


def test_silenced_nodes_stay_but_say_nothing() -> None:
    chain = Draw(np.eye(4, k=1, dtype=np.bool_), np.zeros(4, int), np.zeros(4, int))
    silent = chain.silenced([1])
    assert np.argwhere(silent.adjacency).tolist() == [[2, 3]]
    assert silent.kept() == (2, 3)
    assert chain.kept() == (0, 1, 2, 3)
    assert chain.without([1]).kept() == (1, 2)


@pytest.mark.parametrize(("n", "seconds"), [(24, 0.1), (96, 0.5)])
def test_quick_enough_for_a_suggestion(n: int, seconds: float) -> None:
    """64 draws with probability and gradient take 3 and 6 ms; bounds leave room for a busy host."""
    distribution, rng = GraphDistribution.uniform(n, ["a", "b", "c"], 0.5), np.random.default_rng(0)
    start = perf_counter()
    for _ in range(64):
        draw = sample(distribution, rng)
        log_probability(distribution, draw)
        gradients(distribution, draw)
    assert perf_counter() - start < seconds
