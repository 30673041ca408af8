"""A search as the archive keeps it and the API shows it."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from graphwright.graphs.graph import Graph
from graphwright.search.spec import SearchSpec
from graphwright.search.trial import Usage


class SearchState(StrEnum):
    """The life of a search: pending → running → one of the three ends."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self in (SearchState.SUCCEEDED, SearchState.FAILED, SearchState.CANCELLED)


class SearchProgress(BaseModel):
    """How far a search has come; `seconds` is time spent running, over all its planners."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str = "pending"
    iteration: int = 0
    rounds: int = 0
    evaluations: int = 0
    best_validation_score: float | None = None
    best_graph_hash: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0


class SingleModelScore(BaseModel):
    """What one call of one model reaches on the test split, and whether it fits the budget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    test_score: float
    budget_units: float
    within_budget: bool


class SearchResult(BaseModel):
    """The graph a search ends with, measured on validation and test questions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graph: Graph
    graph_hash: str
    budget_units: float
    validation_score: float
    test_score: float
    test_questions: int
    latency_seconds: float
    single_models: tuple[SingleModelScore, ...]


class Search(BaseModel):
    """One search with its state, progress and, once succeeded, its result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    request_id: str
    spec: SearchSpec
    state: SearchState = SearchState.PENDING
    progress: SearchProgress = SearchProgress()
    result: SearchResult | None = None
    error: str = ""
    created_at: datetime
    updated_at: datetime


class SearchEvent(BaseModel):
    """Something that happened in a search, as WatchSearch streams it.

    `sequence` grows by one within a search, across planners.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    search_id: str
    sequence: int = Field(ge=0)
    state: SearchState
    progress: SearchProgress
    message: str = ""
