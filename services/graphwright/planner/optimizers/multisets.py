"""Multisets of models that can fit a budget, and topologies to try them in (paper, stage 2)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from graphwright.graphs.cost import cheapest_connected_cost
from graphwright.graphs.graph import Edge, Graph, Node, Role
from graphwright.planner.optimizers.port import Problem

Multiset = tuple[str, ...]
"""Model names in node order; the last one is the sink's."""


def feasible_multisets(problem: Problem) -> tuple[tuple[Multiset, float], ...]:
    """Multisets of one or two models whose cheapest connected graph fits, with the share of the
    budget that it takes. Of two models each may come first, to be read, or last, to read."""
    names = [spec.name for spec in problem.affordable]
    shares: dict[Multiset, float] = {}
    for first, last in product(names, repeat=2):
        for multiset in _multisets_of(first, last, problem.max_nodes):
            units = cheapest_connected_cost(problem.cost, multiset) / problem.cost.unit
            if units <= problem.limit:
                shares[multiset] = units / problem.limit
    return tuple(sorted(shares.items()))


def _multisets_of(first: str, last: str, most: int) -> Iterator[Multiset]:
    if first == last:
        yield from ((first,) * count for count in range(1, most + 1))
        return
    for many in range(1, most):
        yield from ((first,) * many + (last,) * few for few in range(1, most - many + 1))


class Topology:
    """Edges and roles over the nodes of a multiset; nodes without a path to the sink idle."""

    def __init__(self, edges: Sequence[Edge], roles: Sequence[Role]) -> None:
        self.edges = tuple(edges)
        self.roles = tuple(roles)

    def graph(self, models: Multiset) -> Graph:
        """The collaboration graph, idle nodes left out."""
        nodes = [Node(role=r, model=m) for r, m in zip(self.roles, models, strict=True)]
        return Graph.trimmed(nodes, self.edges)


def random_topology(n: int, straightness: float, rng: np.random.Generator) -> Topology:
    """A random tree towards the sink, in which nodes that read several answers fuse them.

    A node leads straight to the sink with probability `straightness`, otherwise to a uniformly
    random later node: 1 gives the widest tree, 0 a deep one.
    """
    edges = []
    for node in range(n - 1):
        straight = rng.random() < straightness
        edges.append((node, n - 1 if straight else int(rng.integers(node + 1, n))))
    read = Counter(target for _, target in edges)
    roles = [Role.FUSER if read[node] > 1 else Role.ASSISTANT for node in range(n)]
    return Topology(edges, roles)
