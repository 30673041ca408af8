"""What a graph costs: FLOPs by Theorem 1 of Agent-REINFORCE, or dollars by token prices.

A node reads the question and the outputs of its d predecessors, N_p + d N_d tokens, and writes
N_d tokens (appendix A.7). The budget unit is one root of the cheapest model (appendix A.8), so a
budget of B pays for B such roots.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from heapq import heapify, heapreplace
from math import floor, fsum
from typing import Protocol

from graphwright.graphs.graph import Graph
from graphwright.graphs.model_spec import (
    DuplicateModelError,
    ModelSpec,
    TaskLengths,
    UnknownModelError,
)

__all__ = [
    "CostModel",
    "DollarCost",
    "DuplicateModelError",
    "FlopsCost",
    "ModelSpec",
    "NoUnitError",
    "TaskLengths",
    "UnknownModelError",
    "call_flops",
    "call_usd",
    "cheapest_connected_cost",
    "maximum_nodes",
]

TOKENS_PER_PRICE = 1e6


class NoUnitError(ValueError):
    """No budget unit exists: the pool is empty or its cheapest root costs nothing."""

    def __init__(self, model: str | None) -> None:
        """Remember the model that costs nothing, None for an empty pool."""
        self.model = model
        fault = f"a root of {model!r} costs nothing" if model else "there is no model"
        super().__init__(f"no budget unit: {fault}")


class CostModel(Protocol):
    """Prices graphs as the sum of their nodes, each convex and increasing in its in-degree."""

    @property
    def unit(self) -> float:
        """Cost of a root of the cheapest model: one budget unit."""

    @property
    def cheapest_model(self) -> str:
        """Name of the model whose root costs one unit."""

    def node_cost(self, model: str, in_degree: int) -> float:
        """Cost of one node; raises UnknownModelError."""

    def graph_cost(self, graph: Graph) -> float:
        """Sum of the costs of all nodes; raises UnknownModelError."""

    def units(self, graph: Graph) -> float:
        """`graph_cost` in budget units; raises UnknownModelError."""


def call_flops(spec: ModelSpec, prompt: float, output: float) -> float:
    """Operations of one call that reads `prompt` tokens and writes `output` (appendix A.7)."""
    attention = 2.0 * spec.layers * spec.hidden_size
    prefill = 2.0 * spec.parameters * prompt + attention * prompt * (prompt + 1)
    decode = 2.0 * spec.parameters * output + attention * output * (2 * prompt + output + 1)
    return prefill + decode


def call_usd(spec: ModelSpec, prompt: float, output: float) -> float:
    """Dollars of one call that reads `prompt` tokens and writes `output`."""
    read, written = spec.usd_per_million_input * prompt, spec.usd_per_million_output * output
    return (read + written) / TOKENS_PER_PRICE


class _TokenCost(ABC):
    """What both metrics share: the models by name, the task's lengths, the unit."""

    def __init__(self, models: Sequence[ModelSpec], lengths: TaskLengths) -> None:
        """Index the models; raises DuplicateModelError and NoUnitError."""
        self._models: dict[str, ModelSpec] = {}
        for spec in models:
            if spec.name in self._models:
                raise DuplicateModelError(spec.name)
            self._models[spec.name] = spec
        self.lengths = lengths
        if not self._models:
            raise NoUnitError(None)
        self.unit, self.cheapest_model = min((self.node_cost(m, 0), m) for m in self._models)
        if self.unit <= 0:
            raise NoUnitError(self.cheapest_model)

    def spec(self, model: str) -> ModelSpec:
        """The specification by that name; raises UnknownModelError."""
        try:
            return self._models[model]
        except KeyError:
            raise UnknownModelError(model, tuple(self._models)) from None

    @abstractmethod
    def node_cost(self, model: str, in_degree: int) -> float:
        """Cost of one node; raises UnknownModelError."""

    @abstractmethod
    def quadratic_coefficients(self, model: str) -> tuple[float, float, float]:
        """(alpha, beta, gamma) of cost = alpha d^2 + beta d + gamma; raises UnknownModelError."""

    def graph_cost(self, graph: Graph) -> float:
        """Sum over the nodes; correctly rounded, so it does not depend on their numbering."""
        return fsum(
            self.node_cost(node.model, graph.in_degree(index))
            for index, node in enumerate(graph.nodes)
        )

    def units(self, graph: Graph) -> float:
        """Cost in budget units, B of appendix A.8."""
        return self.graph_cost(graph) / self.unit


class FlopsCost(_TokenCost):
    """Floating-point operations by Theorem 1; a multiply-add counts as two."""

    def node_cost(self, model: str, in_degree: int) -> float:
        """Prefill plus decode, the direct form of appendix A.7; raises UnknownModelError."""
        prompt = self.lengths.prompt + in_degree * self.lengths.output
        return call_flops(self.spec(model), prompt, self.lengths.output)

    def quadratic_coefficients(self, model: str) -> tuple[float, float, float]:
        """Theorem 1: the expansion of the direct form in d; raises UnknownModelError."""
        spec, output = self.spec(model), self.lengths.output
        weights, attention = 2.0 * spec.parameters, 2.0 * spec.layers * spec.hidden_size
        total = self.lengths.prompt + output
        alpha = attention * output**2
        beta = weights * output + attention * output * (2 * total + 1)
        gamma = (weights + attention) * total + attention * total**2
        return alpha, beta, gamma


class DollarCost(_TokenCost):
    """Dollars a query by separate input and output token prices (appendix A.10)."""

    def node_cost(self, model: str, in_degree: int) -> float:
        """Price of the tokens read and written; raises UnknownModelError."""
        prompt = self.lengths.prompt + in_degree * self.lengths.output
        return call_usd(self.spec(model), prompt, self.lengths.output)

    def quadratic_coefficients(self, model: str) -> tuple[float, float, float]:
        """Tokens read grow linearly with d, so alpha is 0; raises UnknownModelError."""
        spec = self.spec(model)
        read = spec.usd_per_million_input / TOKENS_PER_PRICE
        written = spec.usd_per_million_output / TOKENS_PER_PRICE
        root = read * self.lengths.prompt + written * self.lengths.output
        return 0.0, read * self.lengths.output, root


def cheapest_connected_cost(cost: CostModel, multiset: Sequence[str]) -> float:
    """Least cost (of `graph_cost`, not in units) of a connected graph over exactly these models.

    Connected graphs with fewest edges are trees in which every node but the sink feeds one
    successor, and any in-degrees that sum to n - 1 belong to such a tree. Node costs are convex
    in the in-degree, so handing the n - 1 edges one by one to the node that charges least for
    its next is exact. An empty multiset costs 0. Raises UnknownModelError.
    """

    def marginal(model: str, degree: int) -> float:
        return cost.node_cost(model, degree + 1) - cost.node_cost(model, degree)

    offers = [(marginal(model, 0), index, 0) for index, model in enumerate(multiset)]
    heapify(offers)
    for _ in range(len(multiset) - 1):
        _, index, degree = offers[0]
        heapreplace(offers, (marginal(multiset[index], degree + 1), index, degree + 1))
    return fsum(cost.node_cost(multiset[index], degree) for _, index, degree in offers)


def maximum_nodes(cost: CostModel, limit: float, cap: int = 24) -> int:
    """Most nodes that a budget of `limit` units pays for, at most `cap`; 0 below one unit.

    The chain of cheapest models is the cheapest connected graph: a root at one unit, then nodes
    of in-degree 1 at c1 units, hence n = 1 + floor((limit - 1) / c1).
    """
    if limit < 1:
        return 0
    following = cost.node_cost(cost.cheapest_model, 1) / cost.unit
    # A limit computed as exactly that of a chain must not lose a node to rounding.
    return min(cap, 1 + floor((limit - 1) / following + 1e-9))
