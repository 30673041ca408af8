"""The collaboration graph: which model answers, refines or fuses, and who reads whose output.

Nodes are numbered in topological order and edges point from the lower number to the higher, so a
graph is acyclic by construction. The last node is the sink, whose output is the answer. The
virtual input node of the paper is not counted: every node sees the question.

Source: Agent-REINFORCE, section 3 (definition) and Algorithm 2 (order of execution).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MAX_NODES = 256

Edge = tuple[int, int]


class Role(StrEnum):
    """What a node does with the outputs of its predecessors; without any it answers."""

    ASSISTANT = "assistant"
    FUSER = "fuser"


class InvalidEdge(ValueError):
    """An edge that does not lead from a lower node number to a higher one of the same graph."""

    def __init__(self, edge: Edge, nodes: int) -> None:
        """Remember the edge and the number of nodes it had to stay within."""
        self.edge, self.nodes = edge, nodes
        super().__init__(f"edge {edge} must satisfy 0 <= source < target < {nodes}")


class RepeatedEdge(ValueError):
    """An edge given twice."""

    def __init__(self, edge: Edge) -> None:
        """Remember the edge."""
        self.edge = edge
        super().__init__(f"edge {edge} is given more than once")


class DeadEnd(ValueError):
    """A node whose output never reaches the sink."""

    def __init__(self, node: int) -> None:
        """Remember the node."""
        self.node = node
        super().__init__(f"node {node} has no path to the sink (the last node)")


class Node(BaseModel):
    """One call of one model in one role; `model` is the name of a model card."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    model: Annotated[str, Field(min_length=1, max_length=128)]


class Graph(BaseModel):
    """An immutable collaboration graph of 1 to 256 nodes in topological order.

    Edges are kept sorted. Raises pydantic's ValidationError (a ValueError) that names the
    offending edge or node: `InvalidEdge`, `RepeatedEdge`, `DeadEnd`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Annotated[tuple[Node, ...], Field(min_length=1, max_length=MAX_NODES)]
    edges: tuple[Edge, ...]

    @field_validator("edges")
    @classmethod
    def _sorted_unique(cls, edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
        ordered = tuple(sorted(edges))
        for edge, following in pairwise(ordered):
            if edge == following:
                raise RepeatedEdge(edge)
        return ordered

    @model_validator(mode="after")
    def _every_node_reaches_the_sink(self) -> Self:
        _check_range(self.edges, len(self.nodes))
        alive = _reaching_last(len(self.nodes), self.edges)
        if not all(alive):
            raise DeadEnd(alive.index(False))
        return self

    @cached_property
    def _incoming(self) -> tuple[tuple[int, ...], ...]:
        incoming: list[list[int]] = [[] for _ in self.nodes]
        for source, target in self.edges:
            incoming[target].append(source)
        return tuple(map(tuple, incoming))

    def predecessors(self, index: int) -> tuple[int, ...]:
        """Nodes whose output this node reads, ascending."""
        return self._incoming[index]

    def in_degree(self, index: int) -> int:
        """Number of predecessors, d(v) in the paper."""
        return len(self._incoming[index])

    @property
    def sink(self) -> int:
        """The node whose output is the answer: always the last."""
        return len(self.nodes) - 1

    def levels(self) -> tuple[int, ...]:
        """Per node the length in edges of the longest path that leads to it; roots are at 0."""
        levels: list[int] = []
        for sources in self._incoming:
            levels.append(1 + max((levels[source] for source in sources), default=-1))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """Number of nodes on the longest path."""
        return 1 + max(self.levels())

    @property
    def width(self) -> int:
        """Largest number of nodes at one level (see `levels`)."""
        return max(Counter(self.levels()).values())

    def models(self) -> Counter[str]:
        """How many nodes each model has."""
        return Counter(node.model for node in self.nodes)

    @classmethod
    def trimmed(cls, nodes: Sequence[Node], edges: Iterable[Edge]) -> "Graph":
        """The part of a draft that reaches its last node, renumbered without gaps.

        Raises InvalidEdge for an edge that is not ascending or leaves the draft.
        """
        edges = tuple(edges)
        _check_range(edges, len(nodes))
        alive = _reaching_last(len(nodes), edges)
        kept = [index for index, reaches in enumerate(alive) if reaches]
        number = {old: new for new, old in enumerate(kept)}
        # An edge into a surviving node survives: its source reaches the sink through it.
        inner = tuple((number[s], number[t]) for s, t in edges if alive[t])
        return cls(nodes=tuple(nodes[index] for index in kept), edges=inner)

    @classmethod
    def single(cls, model: str, role: Role = Role.ASSISTANT) -> "Graph":
        """One node that answers alone: the yardstick of every search."""
        return cls(nodes=(Node(role=role, model=model),), edges=())


def _check_range(edges: Iterable[Edge], nodes: int) -> None:
    for source, target in edges:
        if not 0 <= source < target < nodes:
            raise InvalidEdge((source, target), nodes)


def _reaching_last(count: int, edges: Iterable[Edge]) -> list[bool]:
    """Whether each node has a path to the last one; edges ascend."""
    alive = [False] * count
    if count:
        alive[-1] = True
    for source, target in sorted(edges, reverse=True):
        # Descending sources: everything beyond the source is settled when it is reached.
        if alive[target]:
            alive[source] = True
    return alive
