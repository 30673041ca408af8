"""search.proto, the part about searches: specification, progress, result and events."""

from datetime import UTC, datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.converters.fields import (
    InvalidField,
    Labels,
    decoder,
    each,
    optional,
    present,
    required,
    stated,
)
from graphwright.converters.graph import decode_graph, encode_graph
from graphwright.converters.trial import decode_usage, encode_usage
from graphwright.search.budget import Budget, BudgetMetric
from graphwright.search.search import (
    Search,
    SearchEvent,
    SearchProgress,
    SearchResult,
    SearchState,
    SingleModelScore,
)
from graphwright.search.spec import AgentKind, SearchSpec

METRICS = Labels(
    {
        BudgetMetric.FLOPS: pb.BUDGET_METRIC_FLOPS,
        BudgetMetric.USD: pb.BUDGET_METRIC_USD,
        BudgetMetric.LATENCY: pb.BUDGET_METRIC_LATENCY,
    }
)
AGENTS = Labels({AgentKind.RULE: pb.AGENT_KIND_RULE, AgentKind.LLM: pb.AGENT_KIND_LLM})
STATES = Labels(
    {
        SearchState.PENDING: pb.SEARCH_STATE_PENDING,
        SearchState.RUNNING: pb.SEARCH_STATE_RUNNING,
        SearchState.SUCCEEDED: pb.SEARCH_STATE_SUCCEEDED,
        SearchState.FAILED: pb.SEARCH_STATE_FAILED,
        SearchState.CANCELLED: pb.SEARCH_STATE_CANCELLED,
    }
)
# Sent as they are; the enums among the optional fields need their labels.
_PLAIN_OPTIONS = (
    "optimizer",
    "seed",
    "iterations",
    "patience",
    "graphs",
    "batch",
    "max_nodes",
    "temperature",
    "top_p",
    "share_draws",
)


def encode_budget(budget: Budget) -> pb.Budget:
    """Encode a budget."""
    return pb.Budget(metric=METRICS.encode(budget.metric), limit=budget.limit)


@decoder
def decode_budget(message: pb.Budget) -> Budget:
    """Decode a budget; an absent metric is the default. Raises InvalidField."""
    if not message.HasField("metric"):
        return Budget(limit=message.limit)
    return Budget(metric=METRICS.decode("metric", message.metric), limit=message.limit)


def encode_search_spec(spec: SearchSpec) -> pb.SearchSpec:
    """Encode a specification with every field set."""
    options: dict[str, Any] = {name: getattr(spec, name) for name in _PLAIN_OPTIONS}
    return pb.SearchSpec(
        task=spec.task,
        pool=spec.pool,
        budget=encode_budget(spec.budget),
        agent=AGENTS.encode(spec.agent),
        **options,
    )


@decoder
def decode_search_spec(message: pb.SearchSpec) -> SearchSpec:
    """Decode a specification; absent fields take their default. Raises InvalidField."""
    options: dict[str, Any] = present(message, _PLAIN_OPTIONS)
    if message.HasField("agent"):
        options["agent"] = AGENTS.decode("agent", message.agent)
    budget = required(message, "budget", decode_budget)
    return SearchSpec(task=message.task, pool=message.pool, budget=budget, **options)


def encode_search_progress(progress: SearchProgress) -> pb.SearchProgress:
    """Encode a progress."""
    return pb.SearchProgress(
        step=progress.step,
        iteration=progress.iteration,
        rounds=progress.rounds,
        evaluations=progress.evaluations,
        best_validation_score=progress.best_validation_score,
        best_graph_hash=progress.best_graph_hash,
        usage=encode_usage(progress.usage),
        seconds=progress.seconds,
    )


@decoder
def decode_search_progress(message: pb.SearchProgress) -> SearchProgress:
    """Decode a progress. Raises InvalidField."""
    scored = message.HasField("best_validation_score")
    return SearchProgress(
        step=message.step,
        iteration=message.iteration,
        rounds=message.rounds,
        evaluations=message.evaluations,
        best_validation_score=message.best_validation_score if scored else None,
        best_graph_hash=message.best_graph_hash,
        usage=required(message, "usage", decode_usage),
        seconds=message.seconds,
    )


def encode_single_model_score(single: SingleModelScore) -> pb.SingleModelScore:
    """Encode what one model reaches alone."""
    return pb.SingleModelScore(
        model=single.model,
        test_score=single.test_score,
        budget_units=single.budget_units,
        within_budget=single.within_budget,
    )


@decoder
def decode_single_model_score(message: pb.SingleModelScore) -> SingleModelScore:
    """Decode what one model reaches alone. Raises InvalidField."""
    return SingleModelScore(
        model=stated(message, "model"),
        test_score=message.test_score,
        budget_units=message.budget_units,
        within_budget=message.within_budget,
    )


def encode_search_result(result: SearchResult) -> pb.SearchResult:
    """Encode a result."""
    return pb.SearchResult(
        graph=encode_graph(result.graph),
        graph_hash=result.graph_hash,
        budget_units=result.budget_units,
        validation_score=result.validation_score,
        test_score=result.test_score,
        test_questions=result.test_questions,
        latency_seconds=result.latency_seconds,
        single_models=map(encode_single_model_score, result.single_models),
    )


@decoder
def decode_search_result(message: pb.SearchResult) -> SearchResult:
    """Decode a result. Raises InvalidField."""
    return SearchResult(
        graph=required(message, "graph", decode_graph),
        graph_hash=message.graph_hash,
        budget_units=message.budget_units,
        validation_score=message.validation_score,
        test_score=message.test_score,
        test_questions=message.test_questions,
        latency_seconds=message.latency_seconds,
        single_models=each("single_models", message.single_models, decode_single_model_score),
    )


def encode_timestamp(instant: datetime) -> Timestamp:
    """Encode an instant; one without a zone counts as UTC."""
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def decode_timestamp(message: Timestamp) -> datetime:
    """Decode an instant, in UTC. Raises InvalidField outside the years 1 to 9999."""
    try:
        return message.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidField("", f"is not an instant: {error}") from error


def encode_search(search: Search) -> pb.Search:
    """Encode a search."""
    return pb.Search(
        id=search.id,
        request_id=search.request_id,
        spec=encode_search_spec(search.spec),
        state=STATES.encode(search.state),
        progress=encode_search_progress(search.progress),
        result=encode_search_result(search.result) if search.result else None,
        error=search.error,
        created_at=encode_timestamp(search.created_at),
        updated_at=encode_timestamp(search.updated_at),
    )


@decoder
def decode_search(message: pb.Search) -> Search:
    """Decode a search. Raises InvalidField."""
    return Search(
        id=stated(message, "id"),
        request_id=stated(message, "request_id"),
        spec=required(message, "spec", decode_search_spec),
        state=STATES.decode("state", message.state),
        progress=required(message, "progress", decode_search_progress),
        result=optional(message, "result", decode_search_result),
        error=message.error,
        created_at=required(message, "created_at", decode_timestamp),
        updated_at=required(message, "updated_at", decode_timestamp),
    )


def encode_search_event(event: SearchEvent) -> pb.SearchEvent:
    """Encode an event."""
    return pb.SearchEvent(
        search_id=event.search_id,
        sequence=event.sequence,
        state=STATES.encode(event.state),
        progress=encode_search_progress(event.progress),
        message=event.message,
    )


@decoder
def decode_search_event(message: pb.SearchEvent) -> SearchEvent:
    """Decode an event. Raises InvalidField."""
    return SearchEvent(
        search_id=stated(message, "search_id"),
        sequence=message.sequence,
        state=STATES.decode("state", message.state),
        progress=required(message, "progress", decode_search_progress),
        message=message.message,
    )
