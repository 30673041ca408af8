"""Pruning ends within the budget, and nodes leave in the stated order."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphwright.graphs.cost import CostModel, FlopsCost, ModelSpec, TaskLengths
from graphwright.graphs.decoding import BudgetTooSmall, prune
from graphwright.graphs.distribution import Draw, GraphDistribution, sample
from graphwright.graphs.graph import Edge, Graph

MODELS = ("small", "middle", "large")
COST_MODELS = [
    ModelSpec(name=name, family="f", parameters=size, layers=16, hidden_size=2048)
    for name, size in zip(MODELS, (1e9, 2e9, 5e9), strict=True)
]
COST = FlopsCost(COST_MODELS, TaskLengths(prompt=200, output=100))


class PlainCost:
    """Whole numbers to reckon with: a root costs 1, 2 or 5, every predecessor 1 more."""

    unit = 1.0
    cheapest_model = "small"

    def node_cost(self, model: str, in_degree: int) -> float:
        return {"small": 1.0, "middle": 2.0, "large": 5.0}[model] + in_degree

    def graph_cost(self, graph: Graph) -> float:
        return sum(self.node_cost(node.model, 0) for node in graph.nodes) + len(graph.edges)

    def units(self, graph: Graph) -> float:
        return self.graph_cost(graph)


PLAIN: CostModel = PlainCost()


def distribution_of(n: int, seed: int, spread: float = 2.0) -> GraphDistribution:
    rng = np.random.default_rng(seed)
    shapes = ((n, n), (n, 2), (n, len(MODELS)))
    edges, roles, models = (spread * rng.normal(size=shape) for shape in shapes)
    return GraphDistribution(MODELS, edges, roles, models)


def draw_of(models: str, *edges: Edge) -> Draw:
    """Assistants s(mall), m(iddle) and l(arge) with these edges."""
    adjacency = np.zeros((len(models), len(models)), dtype=np.bool_)
    for edge in edges:
        adjacency[edge] = True
    numbers = np.array(["sml".index(letter) for letter in models])
    return Draw(adjacency, np.zeros(len(models), dtype=np.intp), numbers)


distributions = st.builds(distribution_of, n=st.integers(1, 10), seed=st.integers(0, 2**32 - 1))
limits = st.floats(1, 40)
seeds = st.integers(0, 2**32 - 1)


def fits(cost: CostModel, draw: Draw, limit: float) -> bool:
    """Whether the sink alone fits, so that pruning can succeed."""
    return cost.node_cost(MODELS[draw.models[-1]], 0) / cost.unit <= limit


@given(distributions, limits, seeds)
@settings(max_examples=100)
def test_a_pruned_graph_never_exceeds_its_budget(
    distribution: GraphDistribution, limit: float, seed: int
) -> None:
    draw = sample(distribution, np.random.default_rng(seed))
    assume(fits(COST, draw, limit))
    pruned, rest, removed = prune(draw, distribution, COST, limit)
    graph = pruned.graph(rest)
    assert COST.units(graph) <= limit
    assert graph.nodes[-1] == draw.graph(distribution).nodes[-1]
    assert rest == distribution.without(removed)
    assert pruned == draw.without(removed)
    assert removed == tuple(sorted(removed))
    assert set(removed) <= set(draw.kept()[:-1])


def surplus(draw: Draw, distribution: GraphDistribution, limit: float) -> tuple[int, ...]:
    """The stated order of removal, word for word and on graphs."""
    removed, alive, p = set[int](), draw.kept(), distribution.edge_probabilities()
    while COST.units(draw.silenced(removed).graph(distribution)) > limit:
        present = set(range(draw.n)) - removed

        def worth(node: int, present: set[int] = present) -> tuple[float, float, int]:
            model = COST.node_cost(MODELS[draw.models[node]], 0)
            return model, round(sum(p[node, k] + p[k, node] for k in present), 12), -node

        removed.add(min(alive[:-1], key=worth))
        still = draw.silenced(removed).kept()
        removed |= set(alive) - set(still)
        alive = still
    return tuple(sorted(removed))


@given(distributions, limits, seeds)
@settings(max_examples=100)
def test_nodes_leave_in_the_stated_order(
    distribution: GraphDistribution, limit: float, seed: int
) -> None:
    draw = sample(distribution, np.random.default_rng(seed))
    assume(fits(COST, draw, limit))
    assert prune(draw, distribution, COST, limit)[2] == surplus(draw, distribution, limit)


@given(distributions, limits, seeds)
@settings(max_examples=60)
def test_pruning_twice_changes_nothing(
    distribution: GraphDistribution, limit: float, seed: int
) -> None:
    draw = sample(distribution, np.random.default_rng(seed))
    assume(fits(COST, draw, limit))
    pruned, rest, _ = prune(draw, distribution, COST, limit)
    again, same, removed = prune(pruned, rest, COST, limit)
    assert (again, same, removed) == (pruned, rest, ())


def test_the_smallest_model_leaves_first() -> None:
    draw = draw_of("mlsl", (0, 3), (1, 3), (2, 3))
    distribution = GraphDistribution.uniform(4, MODELS, 0.5)
    assert PLAIN.units(draw.graph(distribution)) == 16
    assert [prune(draw, distribution, PLAIN, limit)[2] for limit in (16, 15.9, 14, 13, 11, 10)] == [
        (), (2,), (2,), (0, 2), (0, 2), (0, 1, 2)
    ]  # fmt: skip


def test_ties_go_by_incident_edge_probability() -> None:
    draw = draw_of("ssss", (0, 3), (1, 3), (2, 3))
    logits = np.zeros((4, 4))
    logits[0, 3], logits[1, 3], logits[2, 3] = 1, -1, 2
    distribution = GraphDistribution(MODELS, logits, np.zeros((4, 2)), np.zeros((4, 3)))
    assert prune(draw, distribution, PLAIN, 6)[2] == (1,)
    assert prune(draw, distribution, PLAIN, 4)[2] == (0, 1)


def test_edges_to_removed_nodes_no_longer_count() -> None:
    """Node 2 goes first; what bound node 1 to it then speaks for node 1 no longer."""
    draw = draw_of("ssss", (0, 3), (1, 3), (2, 3))
    logits = np.full((4, 4), -9.0)
    logits[0, 3], logits[1, 3], logits[1, 2] = 1.0, 0.0, 1.5
    logits[2, 3] = -9.0
    distribution = GraphDistribution(MODELS, logits, np.zeros((4, 2)), np.zeros((4, 3)))
    incident = distribution.edge_probabilities() + distribution.edge_probabilities().T
    assert incident[0].sum() < incident[2].sum() < incident[1].sum()
    assert prune(draw, distribution, PLAIN, 6)[2] == (0,)
    logits[0, 3] = 1.6
    distribution = GraphDistribution(MODELS, logits, np.zeros((4, 2)), np.zeros((4, 3)))
    assert prune(draw, distribution, PLAIN, 6)[2] == (2,)
    assert prune(draw, distribution, PLAIN, 4)[2] == (1, 2)


def test_remaining_ties_go_to_the_highest_number() -> None:
    draw = draw_of("sssss", (0, 4), (1, 4), (2, 4), (3, 4))
    distribution = GraphDistribution.uniform(5, MODELS, 0.1)
    assert prune(draw, distribution, PLAIN, 7)[2] == (3,)
    assert prune(draw, distribution, PLAIN, 5)[2] == (2, 3)


@pytest.mark.parametrize("forward", [True, False])
def test_rounding_does_not_break_a_tie(forward: bool) -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit; the nodes are still tied."""
    odds = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]][:: 1 if forward else -1])
    logits = np.full((5, 5), -30.0)
    logits[:2, 2:] = np.log(odds) - np.log1p(-odds)
    distribution = GraphDistribution(MODELS, logits, np.zeros((5, 2)), np.zeros((5, 3)))
    draw = draw_of("ssmmm", (0, 4), (1, 4), (2, 4), (3, 4))
    assert prune(draw, distribution, PLAIN, 11)[2] == (1,)


@given(distributions, seeds)
@settings(max_examples=60)
def test_a_budget_of_exactly_its_cost_admits_a_graph(
    distribution: GraphDistribution, seed: int
) -> None:
    cost = FlopsCost(COST_MODELS, TaskLengths(prompt=200.3, output=100.7))
    draw = sample(distribution, np.random.default_rng(seed))
    limit = cost.units(draw.graph(distribution))
    assert prune(draw, distribution, cost, limit)[2] == ()


def test_what_lost_its_path_goes_too() -> None:
    """0 and 1 speak through the small node 2 only; 3 has another way."""
    draw = draw_of("llsmm", (0, 2), (1, 2), (2, 4), (3, 4))
    distribution = GraphDistribution.uniform(5, MODELS, 0.5)
    pruned, rest, removed = prune(draw, distribution, PLAIN, 18.5)
    assert removed == (0, 1, 2)
    assert [node.model for node in pruned.graph(rest).nodes] == ["middle", "middle"]


def test_what_never_had_a_path_stays_in_the_distribution() -> None:
    draw = draw_of("lsss", (1, 3), (2, 3))
    distribution = GraphDistribution.uniform(4, MODELS, 0.5)
    pruned, rest, removed = prune(draw, distribution, PLAIN, 3)
    assert removed == (2,)
    assert (pruned.n, rest.n, pruned.kept()) == (3, 3, (1, 2))


def test_a_sink_beyond_the_budget_is_named() -> None:
    draw = draw_of("sl", (0, 1))
    distribution = GraphDistribution.uniform(2, MODELS, 0.5)
    with pytest.raises(
        BudgetTooSmall, match=r"'large' costs 5 units, the budget is 4\.5"
    ) as raised:
        prune(draw, distribution, PLAIN, 4.5)
    assert (raised.value.model, raised.value.needed, raised.value.limit) == ("large", 5, 4.5)
    assert prune(draw, distribution, PLAIN, 5)[2] == (0,)
