"""Where to look next: neighbours of the best graph, ordered by the trends in width and depth.

Insight 2: performance has an inner optimum in width and in depth. Insight 3: under a budget one
is paid for with the other. So the search climbs: from the best graph known it takes the untried
neighbour that moves width and depth the way the evidence points, within the budget.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from graphwright.graphs.graph import Edge, Role
from graphwright.planner.agent.port import GraphReport, UpdateDistribution


@dataclass(frozen=True)
class Proposal:
    """A graph over the request's nodes; every edge lies on a path to the sink."""

    edges: tuple[Edge, ...]
    roles: tuple[Role, ...]
    width: int
    depth: int
    units: float


def next_graph(request: UpdateDistribution, evidence: Sequence[GraphReport]) -> Proposal:
    """The graph that the agent wants tried; the best known one if every neighbour was tried."""
    shapes = Shapes(request.models)
    tried = {shapes.of(report.edges, report.roles) for report in evidence}
    best = _leader(evidence, shapes)
    width_trend = _trend([(r.width, r.advantage) for r in evidence])
    depth_trend = _trend([(r.depth, r.advantage) for r in evidence])
    start = _proposal(request, set(best.edges), best.roles)

    def appeal(proposal: Proposal) -> tuple[float, float, tuple[Edge, ...]]:
        along = width_trend * (proposal.width - start.width)
        along += depth_trend * (proposal.depth - start.depth)
        familiar = sum(request.edge_probabilities[i][j] for i, j in proposal.edges)
        return (along, familiar / max(len(proposal.edges), 1), proposal.edges)

    untried = [
        proposal
        for edges, roles in _neighbours(request, start)
        if (proposal := _proposal(request, edges, roles)).units <= request.limit
        and shapes.of(proposal.edges, proposal.roles) not in tried
    ]
    return max(untried, key=appeal, default=start)


def _leader(evidence: Sequence[GraphReport], shapes: "Shapes") -> GraphReport:
    """The graph of the best mean score, shrunk by one vote for the mean of all."""
    by_shape: dict[int, list[GraphReport]] = defaultdict(list)
    for report in evidence:
        by_shape[shapes.of(report.edges, report.roles)].append(report)
    middle = fmean(report.score for report in evidence)

    def merit(reports: Sequence[GraphReport]) -> tuple[float, float]:
        total = middle + sum(report.score for report in reports)
        return total / (len(reports) + 1), -reports[0].units

    return max(by_shape.values(), key=merit)[0]


def _trend(points: Sequence[tuple[int, float]]) -> float:
    """The slope of advantage over width or depth; 0 where all are alike."""
    sizes = np.array([size for size, _ in points], dtype=float)
    if np.ptp(sizes) == 0:
        return 0.0
    return float(np.polyfit(sizes, [advantage for _, advantage in points], 1)[0])


def _neighbours(
    request: UpdateDistribution, start: Proposal
) -> Iterator[tuple[set[Edge], tuple[Role, ...]]]:
    """Graphs one step away: an edge more, an edge less, an edge led elsewhere, a role turned."""
    n, edges = len(request.models), set(start.edges)
    absent = {(i, j) for j in range(n) for i in range(j)} - edges
    for edge in sorted(absent):
        yield edges | {edge}, start.roles
    for edge in sorted(edges):
        yield edges - {edge}, start.roles
        for other in sorted(e for e in absent if e[0] == edge[0]):
            yield (edges - {edge}) | {other}, start.roles
    for node in sorted({target for _, target in edges}):
        turned = Role.ASSISTANT if start.roles[node] is Role.FUSER else Role.FUSER
        yield edges, (*start.roles[:node], turned, *start.roles[node + 1 :])


def _proposal(request: UpdateDistribution, edges: set[Edge], roles: tuple[Role, ...]) -> Proposal:
    n = len(request.models)
    alive, kept = {n - 1}, []
    for source, target in sorted(edges, reverse=True):
        if target in alive:
            alive.add(source)
            kept.append((source, target))
    level = dict.fromkeys(alive, 0)
    in_degree = dict.fromkeys(alive, 0)
    for source, target in sorted(kept):
        level[target] = max(level[target], level[source] + 1)
        in_degree[target] += 1
    levels = list(level.values())
    return Proposal(
        edges=tuple(sorted(kept)),
        roles=roles,
        width=max(levels.count(depth) for depth in set(levels)),
        depth=max(levels) + 1,
        units=sum(request.node_units[node][degree] for node, degree in in_degree.items()),
    )


class Shapes:
    """Numbers graphs so that those which differ only in the numbering of their nodes share one.

    A node is known by its model, its role where it reads answers, and its predecessors; nodes equal
    in all of that are told apart only by how many nodes and edges there are in total.
    """

    def __init__(self, models: Sequence[str]) -> None:
        self._models = models
        self._numbers: dict[Hashable, int] = {}

    def of(self, edges: Sequence[Edge], roles: Sequence[Role]) -> int:
        """The number of the graph with these edges, all of which lead to the sink."""
        sources: dict[int, list[int]] = defaultdict(list)
        for source, target in edges:
            sources[target].append(source)
        numbers: dict[int, int] = {}
        for node in sorted({source for source, _ in edges} | {len(self._models) - 1}):
            reads = tuple(sorted(numbers[source] for source in sources[node]))
            role = roles[node] if reads else Role.ASSISTANT
            numbers[node] = self._number((self._models[node], role, reads))
        return self._number((numbers[len(self._models) - 1], len(numbers), len(edges)))

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))
