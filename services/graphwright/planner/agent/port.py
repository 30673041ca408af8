"""The agent port: what an optimizer asks, and what an agent answers (paper §5.2, Algorithm 1).

Requests and advice are values, so that an exchange can be archived and replayed. Advice is checked
by the optimizer: an agent may propose anything, only what is within the rules takes effect.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from graphwright.graphs.graph import Graph, Role


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelProfile(_Value):
    """A model as the pre-tests saw it.

    `units` is the cost of one call, `single` its score, `ensemble` that of a small ensemble
    (several calls and a fuser) and `ensemble_units` what that ensemble costs; None if it did not
    fit the budget.
    """

    model: str
    family: str
    units: float
    single: float
    ensemble: float | None = None
    ensemble_units: float | None = None


class SelectFamilySize(_Value):
    """Stage 1: which models does the task prefer?"""

    kind: Literal["select_family_size"] = "select_family_size"
    limit: float
    profiles: tuple[ModelProfile, ...]


class FamilySizePreference(_Value):
    """Models by preference, the best first."""

    kind: Literal["family_size"] = "family_size"
    ranking: tuple[str, ...] = Field(min_length=1)


class SelectInstances(_Value):
    """Stage 2: how many of which models? `feasible` lists multisets that can fit, with the share
    of the budget that their cheapest connected graph takes."""

    kind: Literal["select_instances"] = "select_instances"
    limit: float
    preference: FamilySizePreference
    profiles: tuple[ModelProfile, ...]
    feasible: tuple[tuple[tuple[str, ...], float], ...]
    count: int


class InstanceChoice(_Value):
    """Multisets to try, each a tuple of model names in node order (the last is the sink)."""

    kind: Literal["instances"] = "instances"
    multisets: tuple[tuple[str, ...], ...] = Field(min_length=1)


class GraphReport(_Value):
    """A graph over the current nodes and how it did: `advantage` is its score less the mean of
    its round, which all graphs of a round share their questions for."""

    edges: tuple[tuple[int, int], ...]
    roles: tuple[Role, ...]
    nodes: int
    width: int
    depth: int
    units: float
    score: float
    advantage: float
    latency_seconds: float
    round: int


class UpdateDistribution(_Value):
    """The loop: how should the distribution move, and which graph should be tried next?

    `models` are the nodes' models; `edge_probabilities[i][j]` for i < j. `history` holds the last
    round whole, and the best and worst before it.
    """

    kind: Literal["update_distribution"] = "update_distribution"
    limit: float
    models: tuple[str, ...]
    edge_probabilities: tuple[tuple[float, ...], ...]
    fuser_probabilities: tuple[float, ...]
    last_round: tuple[GraphReport, ...]
    history: tuple[GraphReport, ...]


class DistributionUpdate(_Value):
    """Changed edge and fuser probabilities (unnamed ones stay), and the agent's own graph."""

    kind: Literal["distribution_update"] = "distribution_update"
    edge_probabilities: Mapping[tuple[int, int], float] = {}
    fuser_probabilities: Mapping[int, float] = {}
    edges: tuple[tuple[int, int], ...]
    roles: tuple[Role, ...]


AgentRequest = SelectFamilySize | SelectInstances | UpdateDistribution
Advice = FamilySizePreference | InstanceChoice | DistributionUpdate


class Agent(ABC):
    """Answers an optimizer's requests."""

    @abstractmethod
    async def select_family_size(self, request: SelectFamilySize) -> FamilySizePreference:
        """Stage 1 (Insight 1)."""

    @abstractmethod
    async def select_instances(self, request: SelectInstances) -> InstanceChoice:
        """Stage 2 (Insight 1)."""

    @abstractmethod
    async def update_distribution(self, request: UpdateDistribution) -> DistributionUpdate:
        """The loop (Insights 2 and 3)."""

    async def answer(self, request: AgentRequest) -> Advice:
        """Dispatch a request by its kind."""
        match request:
            case SelectFamilySize():
                return await self.select_family_size(request)
            case SelectInstances():
                return await self.select_instances(request)
            case UpdateDistribution():
                return await self.update_distribution(request)


def named(graph: Graph) -> str:
    """A graph in one line, for logs and prompts."""
    nodes = ", ".join(f"{i}:{n.role}:{n.model}" for i, n in enumerate(graph.nodes))
    return f"[{nodes}] " + " ".join(f"{a}>{b}" for a, b in graph.edges)
