"""Draws from a graph distribution: sampling, exact log-probability and its gradient.

Edges are drawn for i < j only, so every draw is acyclic and its probability needs no
normalisation over cyclic graphs. Roles depend on the in-degree in the draw, before nodes that
cannot reach the sink are dropped.

Source: Agent-REINFORCE, appendix A.11 (factorisation of P, equations 5 and 6).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphwright.graphs.graph import Graph, Node
from graphwright.graphs.logits import ROLES, Floats, GraphDistribution, InvalidLogits, sigmoid

__all__ = [
    "Draw",
    "Gradients",
    "GraphDistribution",
    "InvalidLogits",
    "gradients",
    "log_probability",
    "sample",
]


@dataclass(frozen=True, eq=False)
class Draw:
    """What was sampled, before trimming.

    `adjacency` is (n, n) bool and upper triangular, `roles` (n,) indexes assistant and fuser,
    `models` (n,) indexes the distribution's models.
    """

    adjacency: npt.NDArray[np.bool_]
    roles: npt.NDArray[np.intp]
    models: npt.NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of nodes, the dropped ones included."""
        return len(self.roles)

    def in_degrees(self) -> npt.NDArray[np.intp]:
        """(n,) predecessors of each node; for kept nodes these are all kept as well."""
        degrees: npt.NDArray[np.intp] = self.adjacency.sum(axis=0, dtype=np.intp)
        return degrees

    def kept(self) -> tuple[int, ...]:
        """Nodes that survive trimming (they reach the last), ascending."""
        # One bit a node, the first node highest: whole rows are tested with one "and".
        packed = np.packbits(self.adjacency, axis=1)
        highest = 8 * packed.shape[1] - 1
        alive = 1 << (highest - (self.n - 1))
        kept = [self.n - 1]
        for node in range(self.n - 2, -1, -1):
            if int.from_bytes(packed[node].tobytes(), "big") & alive:
                alive |= 1 << (highest - node)
                kept.append(node)
        return tuple(reversed(kept))

    def graph(self, distribution: GraphDistribution) -> Graph:
        """The trimmed collaboration graph; node k of it is `kept()[k]` of the draw."""
        kept = self.kept()
        inner = self.adjacency[np.ix_(kept, kept)]
        nodes = (
            Node(role=ROLES[self.roles[node]], model=distribution.models[self.models[node]])
            for node in kept
        )
        sources, targets = np.nonzero(inner)
        edges = zip(sources.tolist(), targets.tolist(), strict=True)
        return Graph(nodes=tuple(nodes), edges=tuple(edges))

    def without(self, nodes: Iterable[int]) -> "Draw":
        """The draw of the other nodes, renumbered."""
        gone = sorted(set(nodes))
        return Draw(
            adjacency=np.delete(np.delete(self.adjacency, gone, axis=0), gone, axis=1),
            roles=np.delete(self.roles, gone),
            models=np.delete(self.models, gone),
        )

    def silenced(self, nodes: Iterable[int]) -> "Draw":
        """The draw of the same size in which these nodes have lost all their edges."""
        adjacency, gone = self.adjacency.copy(), sorted(set(nodes))
        adjacency[gone, :] = adjacency[:, gone] = False
        return Draw(adjacency=adjacency, roles=self.roles, models=self.models)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, for checkpoints; `from_json` is the inverse."""
        return {
            "edges": np.argwhere(self.adjacency).tolist(),
            "roles": self.roles.tolist(),
            "models": self.models.tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Draw":
        """Inverse of `to_json`."""
        n = len(document["roles"])
        adjacency = np.zeros((n, n), dtype=np.bool_)
        for source, target in document["edges"]:
            adjacency[source, target] = True
        roles = np.array(document["roles"], dtype=np.intp)
        return cls(adjacency, roles, np.array(document["models"], dtype=np.intp))

    def __eq__(self, other: object) -> bool:
        """Whether the same edges, roles and models were drawn."""
        return self._key() == other._key() if isinstance(other, Draw) else NotImplemented

    def __hash__(self) -> int:
        """Consistent with equality, so that draws can be counted."""
        return hash(self._key())

    def _key(self) -> tuple[bytes, tuple[int, ...], tuple[int, ...]]:
        packed = np.packbits(self.adjacency).tobytes()
        return packed, tuple(self.roles.tolist()), tuple(self.models.tolist())


@dataclass(frozen=True)
class Gradients:
    """Derivatives by the logits, shaped like them: (n, n), (n, 2) and (n, m)."""

    edge: Floats
    role: Floats
    model: Floats


def sample(distribution: GraphDistribution, rng: np.random.Generator) -> Draw:
    """One draw; takes n^2 + 2n uniform numbers from `rng`, whatever the logits are."""
    n = distribution.n
    adjacency = rng.random((n, n)) < distribution.edge_probabilities()
    in_degrees = adjacency.sum(axis=0, dtype=np.intp)
    roles = (rng.random(n) < sigmoid(distribution.fuser_logits(in_degrees))).astype(np.intp)
    cumulative = np.exp(distribution.model_log_probabilities).cumsum(axis=1)
    # The last model takes what is left, so that rounding cannot point beyond it.
    models = (rng.random(n)[:, None] >= cumulative[:, :-1]).sum(axis=1, dtype=np.intp)
    return Draw(adjacency=adjacency, roles=roles, models=models)


def log_probability(distribution: GraphDistribution, draw: Draw) -> float:
    """Exact log-probability: Bernoulli edges, roles given in-degrees, softmax models."""
    edges = distribution.no_edge_log_probability + distribution.edge_logits[draw.adjacency].sum()
    lead = distribution.fuser_logits(draw.in_degrees())
    roles = np.logaddexp(0.0, np.where(draw.roles == 1, -lead, lead)).sum()
    models = distribution.model_log_probabilities[np.arange(draw.n), draw.models].sum()
    return float(edges - roles + models)


def gradients(distribution: GraphDistribution, draw: Draw) -> Gradients:
    """Gradient of `log_probability` by the logits, the score of equation 5."""
    in_degrees = draw.in_degrees()
    surplus = draw.roles - sigmoid(distribution.fuser_logits(in_degrees))
    if distribution.literal_roles:
        surplus = surplus * distribution.alpha**in_degrees
    model = -np.exp(distribution.model_log_probabilities)
    model[np.arange(draw.n), draw.models] += 1.0
    return Gradients(
        edge=draw.adjacency - distribution.edge_probabilities(),
        role=np.stack([-surplus, surplus], axis=1),
        model=model,
    )
