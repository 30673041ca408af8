"""The agent port: what an optimizer asks, and what an agent answers (paper §5.2, Algorithm 1).

Requests and advice are values, so that an exchange can be archived and replayed. Advice is checked
by the optimizer: an agent may propose anything, only what is within the rules takes effect.
"""

from abc import ABC, abstractmethod
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from graphwright.graphs.graph import Edge, Role


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
    """Stage 2: how many of which models? At most `count` multisets.

    `feasible` lists multisets that can fit (model names in node order, the last the sink's) with
    the share of the budget that their cheapest connected graph takes.
    """

    kind: Literal["select_instances"] = "select_instances"
    limit: float
    preference: FamilySizePreference
    profiles: tuple[ModelProfile, ...]
    feasible: tuple[tuple[tuple[str, ...], float], ...]
    count: int


class InstanceChoice(_Value):
    """Multisets to try, out of those that are feasible."""

    kind: Literal["instances"] = "instances"
    multisets: tuple[tuple[str, ...], ...] = Field(min_length=1)


class GraphReport(_Value):
    """A graph over the current nodes and how it did.

    `edges` are between those nodes that reach the sink, `roles` are of all nodes. `advantage` is
    the score less the mean of its round, all graphs of which answered the same questions.
    """

    edges: tuple[Edge, ...]
    roles: tuple[Role, ...]
    width: int
    depth: int
    units: float
    score: float
    advantage: float
    latency_seconds: float


class UpdateDistribution(_Value):
    """The loop: how should the distribution move, and which graph should be tried next?

    `models` are the nodes' models, the last one's being the sink's; `edge_probabilities[i][j]`
    counts for i < j; `node_units[i][d]` is what node i costs with d predecessors. `last_round` is
    whole, `history` holds the best and worst graphs before it.
    """

    kind: Literal["update_distribution"] = "update_distribution"
    limit: float
    models: tuple[str, ...]
    edge_probabilities: tuple[tuple[float, ...], ...]
    fuser_probabilities: tuple[float, ...]
    node_units: tuple[tuple[float, ...], ...]
    last_round: tuple[GraphReport, ...]
    history: tuple[GraphReport, ...]


class DistributionUpdate(_Value):
    """Changed probabilities (those of unnamed edges and nodes stay), and the agent's own graph."""

    kind: Literal["distribution_update"] = "distribution_update"
    edge_probabilities: tuple[tuple[Edge, float], ...] = ()
    fuser_probabilities: tuple[tuple[int, float], ...] = ()
    edges: tuple[Edge, ...]
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
