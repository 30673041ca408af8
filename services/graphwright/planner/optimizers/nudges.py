"""Moving the distribution on advice, within rule R-3 of the paper's update prompt.

Only edges and roles that the last round sampled may move, by at most `STEP` in probability a
round. Edges run from lower to higher nodes, so that no update can close a cycle.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from graphwright.graphs.distribution import GraphDistribution
from graphwright.graphs.graph import Role
from graphwright.planner.agent.port import DistributionUpdate, GraphReport
from graphwright.planner.optimizers.multisets import Multiset, Topology

STEP = 0.2
UNPROVEN = 0.02
"""p₀: the graph grows from the sink by what proves useful."""

PROVEN = 0.6
"""Where the edges of the best topology of stage 2 start: just above the decoding threshold."""

LOWEST, HIGHEST = 0.01, 0.99


def seeded(models: Multiset, proven: Topology) -> GraphDistribution:
    """The distribution that the loop starts from."""
    distribution = GraphDistribution.with_nodes(models, UNPROVEN, sink_role=None)
    edges = {edge: PROVEN for edge in proven.edges}
    readers = {target for _, target in proven.edges}
    fusers = {n: PROVEN if proven.roles[n] is Role.FUSER else 1 - PROVEN for n in readers}
    return _moved(distribution, edges, fusers)


def apply_update(
    distribution: GraphDistribution, update: DistributionUpdate, last_round: Sequence[GraphReport]
) -> GraphDistribution:
    """The distribution after the advice; what the rules forbid is cut to what they allow."""
    sampled = {edge for report in last_round for edge in report.edges}
    readers = {target for _, target in sampled}
    edges = distribution.edge_probabilities()
    fusers = fuser_probabilities(distribution)
    return _moved(
        distribution,
        {e: _within(edges[e], p) for e, p in update.edge_probabilities if e in sampled},
        {n: _within(fusers[n], p) for n, p in update.fuser_probabilities if n in readers},
    )


def fuser_probabilities(distribution: GraphDistribution) -> npt.NDArray[np.float64]:
    """(n,) probability that a node fuses, in-degree apart."""
    difference = distribution.role_logits[:, 1] - distribution.role_logits[:, 0]
    return np.asarray(1 / (1 + np.exp(-difference)))


def _within(before: float, wanted: float) -> float:
    stepped = min(max(wanted, before - STEP), before + STEP)
    return float(min(max(stepped, LOWEST), HIGHEST))


def _moved(
    distribution: GraphDistribution,
    edges: dict[tuple[int, int], float],
    fusers: dict[int, float],
) -> GraphDistribution:
    edge_logits, role_logits = distribution.edge_logits.copy(), distribution.role_logits.copy()
    for edge, probability in edges.items():
        edge_logits[edge] = np.log(probability / (1 - probability))
    for node, probability in fusers.items():
        role_logits[node] = (0.0, np.log(probability / (1 - probability)))
    return replace(distribution, edge_logits=edge_logits, role_logits=role_logits)
