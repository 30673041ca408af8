"""Every message survives the way to protobuf and back, and none lacks a pair of converters."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.contracts.v1 import execution_pb2, grading_pb2, graph_pb2, search_pb2
from graphwright.converters import execution, grading, graph, search, trial
from graphwright.graphs.graph import Edge, Graph, Node, Role
from graphwright.search.budget import Budget, BudgetMetric
from graphwright.search.calls import Sampling
from graphwright.search.messages import (
    BatchExecuted,
    BatchGraded,
    BatchGraph,
    BatchQuestion,
    ExecuteBatch,
    Execution,
    Grade,
    GradedExecution,
)
from graphwright.search.search import (
    Search,
    SearchEvent,
    SearchProgress,
    SearchResult,
    SearchState,
    SingleModelScore,
)
from graphwright.search.spec import AgentKind, SearchSpec
from graphwright.search.trial import QuestionOutcome, Stage, Trial, TrialStatus, Usage

MODULES = (execution_pb2, grading_pb2, graph_pb2, search_pb2)
CONVERTERS = (execution, grading, graph, search, trial)

texts = st.text(max_size=12)
ids = st.text(min_size=1, max_size=12)
names = st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True)
counts = st.integers(0, 2**32 - 1)
totals = st.integers(0, 2**64 - 1)
fractions = st.floats(0, 1)
amounts = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
numbers = st.floats(allow_nan=False)
instants = st.datetimes(timezones=st.just(UTC))

nodes = st.builds(Node, role=st.sampled_from(Role), model=ids)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    drafted = draw(st.lists(nodes, min_size=1, max_size=6))
    pairs = [(i, j) for j in range(len(drafted)) for i in range(j)]
    chosen: list[Edge] = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Graph.trimmed(drafted, chosen)


def several(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=3).map(tuple)


samplings = st.builds(
    Sampling,
    temperature=amounts,
    top_p=st.floats(0, 1, exclude_min=True),
    top_k=counts,
    max_tokens=st.integers(1, 1_000_000),
    stop=several(texts),
)
batch_graphs = st.builds(BatchGraph, trial_id=ids, graph=graphs())
batch_questions = st.builds(BatchQuestion, id=ids, text=texts)
execute_batches = st.builds(
    ExecuteBatch,
    search_id=ids,
    batch_id=ids,
    attempt=counts,
    task=texts,
    task_hash=texts,
    pool=texts,
    epoch=texts,
    seed=totals,
    share_draws=st.booleans(),
    sampling=samplings,
    graphs=several(batch_graphs),
    questions=several(batch_questions),
)
executions = st.builds(
    Execution,
    trial_id=ids,
    question_id=ids,
    answer=texts,
    failed=st.booleans(),
    failure=texts,
    latency_seconds=amounts,
    calls=totals,
    executed_calls=totals,
    prompt_tokens=totals,
    output_tokens=totals,
    flops=amounts,
    usd=amounts,
)
batches_executed = st.builds(
    BatchExecuted,
    search_id=ids,
    batch_id=ids,
    attempt=counts,
    task=texts,
    task_hash=texts,
    executions=several(executions),
)
grades = st.builds(Grade, score=fractions, reason=texts)
graded_executions = st.builds(GradedExecution, execution=executions, grade=grades)
batches_graded = st.builds(
    BatchGraded, search_id=ids, batch_id=ids, attempt=counts, executions=several(graded_executions)
)
budgets = st.builds(
    Budget, metric=st.sampled_from(BudgetMetric), limit=st.floats(0, 1e9, exclude_min=True)
)
specs = st.builds(
    SearchSpec,
    task=names,
    pool=names,
    budget=budgets,
    optimizer=names,
    agent=st.sampled_from(AgentKind),
    seed=st.integers(0, 2**63 - 1),
    iterations=st.integers(1, 1000),
    patience=st.integers(1, 1000),
    graphs=st.integers(1, 64),
    batch=st.integers(1, 1024),
    max_nodes=st.integers(1, 96),
    temperature=st.floats(0, 2),
    top_p=st.floats(0, 1, exclude_min=True),
    share_draws=st.booleans(),
)
usages = st.builds(
    Usage,
    calls=totals,
    executed_calls=totals,
    prompt_tokens=totals,
    output_tokens=totals,
    flops=numbers,
    usd=numbers,
)
progresses = st.builds(
    SearchProgress,
    step=texts,
    iteration=counts,
    rounds=counts,
    evaluations=counts,
    best_validation_score=st.none() | numbers,
    best_graph_hash=texts,
    usage=usages,
    seconds=numbers,
)
singles = st.builds(
    SingleModelScore,
    model=ids,
    test_score=numbers,
    budget_units=numbers,
    within_budget=st.booleans(),
)
results = st.builds(
    SearchResult,
    graph=graphs(),
    graph_hash=texts,
    budget_units=numbers,
    validation_score=numbers,
    test_score=numbers,
    test_questions=counts,
    latency_seconds=numbers,
    single_models=several(singles),
)
searches = st.builds(
    Search,
    id=ids,
    request_id=ids,
    spec=specs,
    state=st.sampled_from(SearchState),
    progress=progresses,
    result=st.none() | results,
    error=texts,
    created_at=instants,
    updated_at=instants,
)
events = st.builds(
    SearchEvent,
    search_id=ids,
    sequence=totals,
    state=st.sampled_from(SearchState),
    progress=progresses,
    message=texts,
)
outcomes = st.builds(
    QuestionOutcome, question_id=ids, score=fractions, failed=st.booleans(), latency_seconds=amounts
)
trials = st.builds(
    Trial,
    id=ids,
    search_id=ids,
    iteration=counts,
    stage=st.sampled_from(Stage),
    origin=texts,
    graph=graphs(),
    graph_hash=texts,
    budget_units=numbers,
    status=st.sampled_from(TrialStatus),
    score=fractions,
    failed_questions=counts,
    latency_seconds=amounts,
    outcomes=several(outcomes),
    usage=usages,
)
edges = st.tuples(st.integers(0, 255), st.integers(0, 255))

STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "BatchExecuted": batches_executed,
    "BatchGraded": batches_graded,
    "BatchGraph": batch_graphs,
    "BatchQuestion": batch_questions,
    "Budget": budgets,
    "Edge": edges,
    "ExecuteBatch": execute_batches,
    "Execution": executions,
    "Grade": grades,
    "GradedExecution": graded_executions,
    "Graph": graphs(),
    "Node": nodes,
    "QuestionOutcome": outcomes,
    "Sampling": samplings,
    "Search": searches,
    "SearchEvent": events,
    "SearchProgress": progresses,
    "SearchResult": results,
    "SearchSpec": specs,
    "SingleModelScore": singles,
    "Trial": trials,
    "Usage": usages,
}


def contents() -> Iterator[Descriptor]:
    """Every message but the envelopes of the rpcs, which the servicer reads field by field."""
    service = search_pb2.DESCRIPTOR.services_by_name["SearchService"]
    envelopes = set(chain.from_iterable((m.input_type, m.output_type) for m in service.methods))
    for module in MODULES:
        for message in module.DESCRIPTOR.message_types_by_name.values():
            if message not in envelopes:
                yield message


def converter(direction: str, name: str) -> Callable[[Any], Any]:
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    known: dict[str, Callable[[Any], Any]] = dict(
        chain.from_iterable(vars(module).items() for module in CONVERTERS)
    )
    return known[f"{direction}_{snake}"]


def test_every_message_has_a_pair_of_converters_and_a_strategy() -> None:
    assert {message.name for message in contents()} == set(STRATEGIES)
    for name in STRATEGIES:
        converter("encode", name)
        converter("decode", name)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_message_survives_the_round_trip_and_sets_every_field(name: str) -> None:
    encode, decode = converter("encode", name), converter("decode", name)
    seen: set[str] = set()

    @settings(max_examples=50, derandomize=True, deadline=None)
    @given(STRATEGIES[name])
    def round_trip(value: object) -> None:
        sent: Message = encode(value)
        received = type(sent).FromString(sent.SerializeToString())
        assert decode(received) == value
        seen.update(field.name for field, _ in sent.ListFields())

    round_trip()
    assert seen == {field.name for field in descriptor(name).fields}


def descriptor(name: str) -> Descriptor:
    return next(message for message in contents() if message.name == name)


def test_an_instant_without_a_zone_counts_as_utc() -> None:
    encoded = search.encode_timestamp(datetime(2026, 1, 2, 3, 4, 5))
    assert search.decode_timestamp(encoded) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
