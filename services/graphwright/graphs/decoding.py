"""From a distribution to graphs within a budget: most probable graph, repair, pruning.

Budgets are in units of the cost model (`CostModel.unit`). Only nodes that reach the sink are
paid for.

Source: Agent-REINFORCE, section 5.2 ("we remove the smallest nodes") and appendix A.11 (MAP
decoding, threshold tau_e).
"""

from collections.abc import Callable, Iterable
from functools import cache
from math import fsum

import numpy as np
import numpy.typing as npt

from graphwright.graphs.cost import CostModel
from graphwright.graphs.distribution import Draw, GraphDistribution, sample
from graphwright.graphs.graph import Graph

# Draws over budget that are thrown away before one is pruned instead.
REJECTIONS = 16


class BudgetTooSmall(ValueError):
    """A limit that the sink alone exceeds."""

    def __init__(self, model: str, needed: float, limit: float) -> None:
        """Remember the sink's model, what it costs alone and the limit, both in units."""
        self.model, self.needed, self.limit = model, needed, limit
        super().__init__(f"a sink of {model!r} costs {needed:g} units, the budget is {limit:g}")


def map_draw(
    distribution: GraphDistribution,
    threshold: float = 0.5,
    needed: Iterable[int] | None = None,
) -> Draw:
    """Edges of at least the threshold probability, then the most probable roles and models.

    Every node in `needed` (by default all) keeps a path to the sink: one that has none gains its
    most probable edge to a node that has one, ties to the highest, so towards the sink.
    """
    adjacency = np.triu(distribution.edge_probabilities() >= threshold, k=1)
    _repair(adjacency, distribution, set(range(distribution.n) if needed is None else needed))
    in_degrees = adjacency.sum(axis=0, dtype=np.intp)
    return Draw(
        adjacency=adjacency,
        roles=(distribution.fuser_logits(in_degrees) > 0).astype(np.intp),
        models=distribution.model_logits.argmax(axis=1),
    )


def prune(
    draw: Draw, distribution: GraphDistribution, cost: CostModel, limit: float
) -> tuple[Draw, GraphDistribution, tuple[int, ...]]:
    """Remove nodes until the graph costs at most `limit` units.

    One at a time leaves the node whose model is cheapest, then the one with the least incident
    edge probability (edges to removed nodes aside), then the highest numbered, never the sink;
    with it goes whatever lost its path. Returns the smaller draw, the distribution without the
    same nodes, and their numbers ascending. Nodes that never had a path cost nothing and stay.
    Raises BudgetTooSmall where the sink alone does not fit, and UnknownModelError.
    """
    removed = _surplus(draw, distribution, cost, limit)
    return draw.without(removed), distribution.without(removed), removed


def decode(
    distribution: GraphDistribution,
    cost: CostModel,
    limit: float,
    threshold: float = 0.5,
    needed: Iterable[int] | None = None,
) -> Graph:
    """The most probable graph (`map_draw`), pruned to the limit; raises BudgetTooSmall."""
    draw, rest, _ = prune(map_draw(distribution, threshold, needed), distribution, cost, limit)
    return draw.graph(rest)


def sample_within(
    distribution: GraphDistribution,
    cost: CostModel,
    limit: float,
    rng: np.random.Generator,
    attempts: int = REJECTIONS,
) -> Draw:
    """A draw whose graph costs at most `limit` units.

    Draws over budget are rejected; after `attempts` of them the last is pruned. The result has
    the size of the distribution: pruned nodes merely lose their edges, so that log-probability
    and gradient are defined. Raises BudgetTooSmall if the sink of that last draw alone exceeds
    the limit: a distribution should offer only models of which one root fits.
    """
    units = _pricing(distribution, cost)
    for _ in range(attempts):
        draw = sample(distribution, rng)
        if units(draw, np.array(draw.kept())) <= limit:
            return draw
    draw = sample(distribution, rng) if attempts < 1 else draw
    return draw.silenced(_surplus(draw, distribution, cost, limit))


_Nodes = npt.NDArray[np.intp]
_Pricing = Callable[[Draw, _Nodes], float]


def _repair(
    adjacency: npt.NDArray[np.bool_], distribution: GraphDistribution, needed: set[int]
) -> None:
    """Give every needed node without a path to the sink one edge, in place."""
    probabilities = distribution.edge_probabilities()
    sink = distribution.n - 1
    alive = np.arange(distribution.n) == sink
    for node in range(sink - 1, -1, -1):
        alive[node] = (adjacency[node] & alive).any()
        if node in needed and not alive[node]:
            odds = np.where(alive, probabilities[node], -1.0)
            adjacency[node, sink - odds[::-1].argmax()] = True
            alive[node] = True


def _pricing(distribution: GraphDistribution, cost: CostModel) -> _Pricing:
    """Cost in units of the part of a draw made of the given nodes, alone.

    The sum is correctly rounded, hence equal to that of the trimmed graph to the last bit.
    """

    @cache
    def price(model: int, in_degree: int) -> float:
        return cost.node_cost(distribution.models[model], in_degree)

    def units(draw: Draw, nodes: _Nodes) -> float:
        in_degrees = draw.adjacency[nodes].sum(axis=0)[nodes]
        return fsum(map(price, draw.models[nodes].tolist(), in_degrees.tolist())) / cost.unit

    return units


def _surplus(
    draw: Draw, distribution: GraphDistribution, cost: CostModel, limit: float
) -> tuple[int, ...]:
    """Nodes that `prune` removes, ascending."""
    units, started = _pricing(distribution, cost), draw.kept()
    alive = np.zeros(draw.n, dtype=np.bool_)
    alive[list(started)] = True
    either_way = distribution.edge_probabilities() + distribution.edge_probabilities().T
    roots = np.array([cost.node_cost(distribution.models[m], 0) for m in draw.models.tolist()])
    removed = np.zeros(draw.n, dtype=np.bool_)
    while (needed := units(draw, np.flatnonzero(alive))) > limit:
        candidates = np.flatnonzero(alive)[:-1]
        if not len(candidates):
            raise BudgetTooSmall(distribution.models[draw.models[-1]], needed, limit)
        # Rounded, so that equal probabilities added in another order remain a tie.
        incident = either_way[np.ix_(candidates, ~removed)].sum(axis=1).round(12)
        alive[candidates[np.lexsort((-candidates, incident, roots[candidates]))[0]]] = False
        _drop_orphans(draw.adjacency, alive)
        removed[list(started)] = ~alive[list(started)]
    return tuple(np.flatnonzero(removed).tolist())


def _drop_orphans(adjacency: npt.NDArray[np.bool_], alive: npt.NDArray[np.bool_]) -> None:
    """Unmark, in place, the marked nodes that no longer reach the sink through marked ones."""
    while True:
        reaching = adjacency[:, alive].any(axis=1)
        reaching[-1] = True
        if (orphans := alive & ~reaching).any():
            alive[orphans] = False
        else:
            return
