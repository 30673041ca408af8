"""The messages of the ring: planner → executor → evaluator → planner.

`ExecuteBatch` is a command; `BatchExecuted` and `BatchGraded` are events. A batch is all graphs
still racing in a round on one chunk of questions. Reference answers never travel.
"""

from pydantic import BaseModel, ConfigDict, Field

from graphwright.graphs.graph import Graph
from graphwright.search.calls import Sampling


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BatchGraph(_Message):
    """A graph to run, under the id of the trial it belongs to."""

    trial_id: str
    graph: Graph


class BatchQuestion(_Message):
    """A question without its reference answer."""

    id: str
    text: str


class ExecuteBatch(_Message):
    """Run every graph on every question.

    `task_hash` is the content hash of the task set (prompts and questions) that the planner
    uses; `epoch` separates the random draws of training, validation and test. `attempt` grows
    when the planner sends the same batch again.
    """

    search_id: str
    batch_id: str
    attempt: int = Field(default=0, ge=0)
    task: str
    task_hash: str
    pool: str
    epoch: str
    seed: int = Field(ge=0)
    share_draws: bool = True
    sampling: Sampling
    graphs: tuple[BatchGraph, ...]
    questions: tuple[BatchQuestion, ...]


class Execution(_Message):
    """One graph's run on one question.

    `latency_seconds` is the critical path over measured call latencies. `executed_calls` counts
    the calls that this run was the first to make. `failure` says why a run is `failed`: a call of
    one of its nodes failed for good and counted as an empty output.
    """

    trial_id: str
    question_id: str
    answer: str
    failed: bool = False
    failure: str = ""
    latency_seconds: float = Field(default=0.0, ge=0)
    calls: int = Field(default=0, ge=0)
    executed_calls: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    flops: float = Field(default=0.0, ge=0)
    usd: float = Field(default=0.0, ge=0)


class BatchExecuted(_Message):
    """All runs of a batch, ready to be graded."""

    search_id: str
    batch_id: str
    attempt: int = Field(default=0, ge=0)
    task: str
    task_hash: str
    executions: tuple[Execution, ...]


class Grade(_Message):
    """A score in [0, 1] and the grader's reason."""

    score: float = Field(ge=0, le=1)
    reason: str = ""


class GradedExecution(_Message):
    """A run with its grade."""

    execution: Execution
    grade: Grade


class BatchGraded(_Message):
    """All graded runs of a batch."""

    search_id: str
    batch_id: str
    attempt: int = Field(default=0, ge=0)
    executions: tuple[GradedExecution, ...]


RingMessage = ExecuteBatch | BatchExecuted | BatchGraded
