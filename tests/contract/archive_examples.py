"""Small valid searches, trials and batches for tests of the archive."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from graphwright.graphs.graph import Graph, Node, Role
from graphwright.search.budget import Budget
from graphwright.search.messages import BatchGraded, Execution, Grade, GradedExecution
from graphwright.search.search import Search, SearchResult, SingleModelScore
from graphwright.search.spec import SearchSpec
from graphwright.search.trial import QuestionOutcome, Stage, Trial, TrialStatus, Usage

NOON = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)

GRAPH = Graph(
    nodes=(
        Node(role=Role.ASSISTANT, model="pocket.s"),
        Node(role=Role.ASSISTANT, model="pocket.l"),
        Node(role=Role.FUSER, model="pocket.s"),
    ),
    edges=((0, 2), (1, 2)),
)


def a_search(*, request_id: str = "", age: int = 0, seed: int = 7) -> Search:
    """A pending search, made `age` minutes before noon."""
    created = NOON - timedelta(minutes=age)
    return Search(
        id=uuid4().hex,
        request_id=request_id or uuid4().hex,
        spec=SearchSpec(task="arithmetic", pool="pocket", budget=Budget(limit=18), seed=seed),
        created_at=created,
        updated_at=created,
    )


def a_result() -> SearchResult:
    """A result with one single model beside it."""
    single = SingleModelScore(
        model="pocket.s", test_score=0.5, budget_units=1.0, within_budget=True
    )
    return SearchResult(
        graph=GRAPH,
        graph_hash="ab12",
        budget_units=3.25,
        validation_score=0.75,
        test_score=0.625,
        test_questions=200,
        latency_seconds=0.0125,
        single_models=(single,),
    )


def a_trial(search_id: str, trial_id: str, *, score: float = 0.5) -> Trial:
    """A completed trial over two questions."""
    outcomes = (
        QuestionOutcome(question_id="q1", score=score, latency_seconds=0.01),
        QuestionOutcome(question_id="q2", score=score, failed=True, latency_seconds=0.02),
    )
    return Trial(
        id=trial_id,
        search_id=search_id,
        iteration=1,
        stage=Stage.SEARCH,
        origin="sample",
        graph=GRAPH,
        graph_hash="ab12",
        budget_units=3.25,
        status=TrialStatus.COMPLETED,
        score=score,
        failed_questions=1,
        latency_seconds=0.015,
        outcomes=outcomes,
        usage=Usage(calls=6, executed_calls=5, prompt_tokens=2**40, flops=1e15, usd=1e-9),
    )


def a_batch(search_id: str, batch_id: str, *, attempt: int = 0, score: float = 1.0) -> BatchGraded:
    """A batch of one graded run."""
    execution = Execution(trial_id="t1", question_id="q1", answer="4$2", calls=3, flops=1e12)
    graded = GradedExecution(execution=execution, grade=Grade(score=score, reason="exact"))
    return BatchGraded(
        search_id=search_id, batch_id=batch_id, attempt=attempt, executions=(graded,)
    )
