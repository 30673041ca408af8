"""The optimizer port.

An optimizer does no I/O and owns no loop: the session asks for candidates, has them evaluated and
hands the trials back. One that is guided by an agent says what it wants to know (`consult`) and is
told (`advise`); the session does the asking.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphwright.graphs.cost import CostModel
from graphwright.graphs.graph import Graph
from graphwright.graphs.model_spec import ModelSpec
from graphwright.planner.agent.port import Advice, AgentRequest
from graphwright.search.trial import Candidate, Trial

OptimizerState = Mapping[str, Any]
"""JSON, with its `version`."""


@dataclass(frozen=True)
class Problem:
    """What an optimizer may build from: models, their costs, a limit in budget units, a size."""

    models: tuple[ModelSpec, ...]
    cost: CostModel
    limit: float
    max_nodes: int
    seed: int

    def fits(self, graph: Graph) -> bool:
        """Whether a graph stays within the budget."""
        return self.units(graph) <= self.limit

    def units(self, graph: Graph) -> float:
        """The cost of a graph in budget units."""
        return self.cost.graph_cost(graph) / self.cost.unit

    @property
    def affordable(self) -> tuple[ModelSpec, ...]:
        """Models of which one call fits the budget, the cheapest first."""
        price = {
            spec.name: self.cost.node_cost(spec.name, 0) / self.cost.unit for spec in self.models
        }
        within = [spec for spec in self.models if price[spec.name] <= self.limit]
        return tuple(sorted(within, key=lambda spec: (price[spec.name], spec.name)))


class UnreadableState(ValueError):
    """A dumped state is of another version or another optimizer."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"optimizer state is {found!r}, not {expected!r}")


class Optimizer(ABC):
    """Proposes candidates within the budget; deterministic in the problem and the trials."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @abstractmethod
    def suggest(self, count: int) -> Sequence[Candidate]:
        """At most `count` candidates of one stage; empty when there is nothing left to try.

        Asking again before `update` gives the same candidates.
        """

    @abstractmethod
    def update(self, completed: Sequence[Trial]) -> None:
        """Learn from trials; a trial already seen (by id) changes nothing."""

    @abstractmethod
    def dump(self) -> OptimizerState:
        """The state as JSON; `load` is its inverse."""

    @abstractmethod
    def load(self, state: OptimizerState) -> None:
        """Restore a dumped state. Raises UnreadableState."""

    @abstractmethod
    def incumbent(self) -> Graph:
        """The graph that would be returned if the search stopped at this point."""

    def consult(self) -> AgentRequest | None:
        """What the optimizer wants to ask its agent before it goes on; None if nothing."""
        return None

    def advise(self, advice: Advice) -> None:
        """Take the agent's answer to `consult`."""
        raise TypeError(f"{type(self).__name__} asks no agent, but was told {advice!r}")
