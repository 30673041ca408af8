"""Candidates an optimizer proposes and the trials they become."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from graphwright.graphs.graph import Graph


class Stage(StrEnum):
    """Where in a search a candidate belongs (paper, Algorithm 1).

    `PRETEST` is stage 1 (family and size), `INSTANCES` stage 2 (instance counts), `SEARCH` the
    sample-feedback-update loop.
    """

    PRETEST = "pretest"
    INSTANCES = "instances"
    SEARCH = "search"


class TrialStatus(StrEnum):
    """`FAILED` means that on every question some node failed for good."""

    COMPLETED = "completed"
    FAILED = "failed"


class Usage(BaseModel):
    """What an evaluation consumed.

    `calls`, tokens, `flops` and `usd` are charged as if the evaluation had run alone;
    `executed_calls` is what really went to a model, each shared call counted once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int = 0
    executed_calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    flops: float = 0.0
    usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            executed_calls=self.executed_calls + other.executed_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            flops=self.flops + other.flops,
            usd=self.usd + other.usd,
        )


class Candidate(BaseModel):
    """A graph that an optimizer proposes; `id` is unique within its search."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1, max_length=32)
    graph: Graph
    stage: Stage = Stage.SEARCH
    origin: str = "sample"


class QuestionOutcome(BaseModel):
    """How a graph did on one question; `latency_seconds` is the critical path of its calls."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_id: str
    score: float = Field(ge=0, le=1)
    failed: bool = False
    latency_seconds: float = Field(ge=0)


class Trial(BaseModel):
    """A candidate with its results on one mini-batch of questions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    search_id: str
    iteration: int = Field(ge=0)
    stage: Stage
    origin: str
    graph: Graph
    graph_hash: str
    budget_units: float
    status: TrialStatus
    score: float = Field(ge=0, le=1)
    failed_questions: int = Field(ge=0)
    latency_seconds: float = Field(ge=0)
    outcomes: tuple[QuestionOutcome, ...]
    usage: Usage
