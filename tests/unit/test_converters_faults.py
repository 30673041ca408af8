"""Refused content is named by the path of its field, and bytes on the wire stay readable."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.contracts.v1 import grading_pb2, graph_pb2, search_pb2
from graphwright.converters.fields import InvalidField
from graphwright.converters.grading import decode_batch_graded
from graphwright.converters.requests import (
    decode_state_filter,
    decode_submit_search_request,
    encode_submit_search_request,
)
from graphwright.converters.search import decode_search, decode_search_spec, encode_search_event
from graphwright.converters.trial import decode_trial
from graphwright.converters.wire import UndecodableMessage, decode, encode
from graphwright.graphs.graph import Graph, Node, Role
from graphwright.search.budget import Budget
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
    RingMessage,
)
from graphwright.search.search import SearchEvent, SearchProgress, SearchState
from graphwright.search.spec import SearchSpec

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

PAIR = Graph(
    nodes=(Node(role=Role.ASSISTANT, model="small"), Node(role=Role.FUSER, model="large")),
    edges=((0, 1),),
)
RUN = Execution(
    trial_id="t1",
    question_id="q1",
    answer="42",
    failed=True,
    failure="large timed out",
    latency_seconds=0.5,
    calls=2,
    executed_calls=1,
    prompt_tokens=30,
    output_tokens=7,
    flops=1e9,
    usd=0.001,
)
MESSAGES: tuple[RingMessage | SearchEvent, ...] = (
    ExecuteBatch(
        search_id="s1",
        batch_id="b1",
        attempt=2,
        task="sums",
        task_hash="abc",
        pool="pocket",
        epoch="train-1",
        seed=7,
        share_draws=False,
        sampling=Sampling(temperature=0.9, top_p=0.95, top_k=40, max_tokens=64, stop=("\n",)),
        graphs=(BatchGraph(trial_id="t1", graph=PAIR),),
        questions=(BatchQuestion(id="q1", text="6·7?"),),
    ),
    BatchExecuted(
        search_id="s1", batch_id="b1", attempt=2, task="sums", task_hash="abc", executions=(RUN,)
    ),
    BatchGraded(
        search_id="s1",
        batch_id="b1",
        attempt=2,
        executions=(GradedExecution(execution=RUN, grade=Grade(score=0.25, reason="partly")),),
    ),
    SearchEvent(
        search_id="s1",
        sequence=3,
        state=SearchState.RUNNING,
        progress=SearchProgress(step="search", iteration=1, best_validation_score=0.0),
        message="iteration 1",
    ),
)


def request() -> search_pb2.SubmitSearchRequest:
    spec = SearchSpec(task="sums", pool="pocket", budget=Budget(limit=18))
    return encode_submit_search_request("r1", spec)


Doctor = Callable[[search_pb2.SubmitSearchRequest], object]
REFUSED: dict[str, Doctor] = {
    "request_id": lambda r: r.ClearField("request_id"),
    "spec": lambda r: r.ClearField("spec"),
    "spec.task": lambda r: r.spec.ClearField("task"),
    "spec.pool": lambda r: setattr(r.spec, "pool", "../secrets"),
    "spec.budget": lambda r: r.spec.ClearField("budget"),
    "spec.budget.limit": lambda r: setattr(r.spec.budget, "limit", 0),
    "spec.budget.metric": lambda r: setattr(r.spec.budget, "metric", 0),
    "spec.agent": lambda r: setattr(r.spec, "agent", 9),
    "spec.seed": lambda r: setattr(r.spec, "seed", 2**63),
    "spec.iterations": lambda r: setattr(r.spec, "iterations", 0),
    "spec.temperature": lambda r: setattr(r.spec, "temperature", float("nan")),
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_refused_request_names_the_path_of_the_field(field: str) -> None:
    message = request()
    REFUSED[field](message)
    with pytest.raises(InvalidField) as refusal:
        decode_submit_search_request(message)
    assert refusal.value.field == field
    assert refusal.value.reason
    assert str(refusal.value).startswith(f"{field}: ")


def test_a_request_id_is_bounded() -> None:
    message = request()
    message.request_id = "r" * 128
    assert decode_submit_search_request(message)[0] == message.request_id
    message.request_id += "r"
    with pytest.raises(InvalidField, match="request_id: must have at most 128"):
        decode_submit_search_request(message)


def test_absent_options_take_their_defaults() -> None:
    message = search_pb2.SearchSpec(task="a", pool="b", budget=search_pb2.Budget(limit=3))
    assert decode_search_spec(message) == SearchSpec(task="a", pool="b", budget=Budget(limit=3))


def test_an_option_sent_as_zero_is_not_a_default() -> None:
    message = search_pb2.SearchSpec(task="a", pool="b", budget=search_pb2.Budget(limit=3))
    message.temperature = 0.0
    message.share_draws = False
    spec = decode_search_spec(message)
    assert (spec.temperature, spec.share_draws) == (0.0, False)


def test_a_state_filter_is_optional_but_never_unspecified() -> None:
    assert decode_state_filter(search_pb2.ListSearchesRequest()) is None
    running = search_pb2.ListSearchesRequest(state=search_pb2.SEARCH_STATE_RUNNING)
    assert decode_state_filter(running) is SearchState.RUNNING
    with pytest.raises(InvalidField, match="state: must be one of pending"):
        decode_state_filter(search_pb2.ListSearchesRequest(state=0))  # type: ignore[arg-type]


def test_a_fault_inside_a_repeated_field_names_its_index() -> None:
    graded = grading_pb2.BatchGraded.FromString(encode(MESSAGES[2]))
    graded.executions.append(graded.executions[0])
    graded.executions[1].grade.score = 2
    with pytest.raises(InvalidField, match="less than or equal to 1") as refusal:
        decode_batch_graded(graded)
    assert refusal.value.field == "executions.1.grade.score"


def test_a_fault_of_the_whole_graph_names_the_graph() -> None:
    trial = search_pb2.Trial(id="t", search_id="s", stage=3, status=1)  # type: ignore[arg-type]
    node = graph_pb2.Node(role=graph_pb2.ROLE_FUSER, model="m")
    trial.graph.nodes.extend([node, node])
    with pytest.raises(InvalidField, match="node 0 has no path to the sink") as refusal:
        decode_trial(trial)
    assert refusal.value.field == "graph"
    trial.graph.nodes[0].role = graph_pb2.ROLE_UNSPECIFIED
    with pytest.raises(InvalidField, match="assistant, fuser") as refusal:
        decode_trial(trial)
    assert refusal.value.field == "graph.nodes.0.role"


def test_an_instant_beyond_the_calendar_is_refused() -> None:
    search = search_pb2.Search(id="s", request_id="r", spec=request().spec)
    search.state = search_pb2.SEARCH_STATE_PENDING
    search.progress.CopyFrom(encode_search_event(event()).progress)
    search.created_at.seconds = 10**15
    with pytest.raises(InvalidField, match="is not an instant") as refusal:
        decode_search(search)
    assert refusal.value.field == "created_at"


def event() -> SearchEvent:
    assert isinstance(MESSAGES[3], SearchEvent)
    return MESSAGES[3]


def kind_of(message: RingMessage | SearchEvent) -> str:
    return type(message).__name__


@pytest.mark.parametrize("message", MESSAGES, ids=kind_of)
def test_the_wire_carries_every_bus_message(message: RingMessage | SearchEvent) -> None:
    assert decode(type(message), encode(message)) == message


@pytest.mark.parametrize("message", MESSAGES, ids=kind_of)
def test_bytes_of_an_earlier_release_decode(message: RingMessage | SearchEvent) -> None:
    golden = json.loads((GOLDEN / "messages_v1.json").read_text())[kind_of(message)]
    assert decode(type(message), bytes.fromhex(golden)) == message


@pytest.mark.parametrize("message", MESSAGES, ids=kind_of)
def test_a_truncated_message_is_undecodable(message: RingMessage | SearchEvent) -> None:
    kind = kind_of(message)
    with pytest.raises(UndecodableMessage, match=f"not a valid {kind}") as refusal:
        decode(type(message), encode(message)[:-1])
    assert refusal.value.kind == kind


@pytest.mark.parametrize("kind", [type(message) for message in MESSAGES])
@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_garbage_is_undecodable_and_nothing_else(
    kind: type[RingMessage | SearchEvent], data: bytes
) -> None:
    with pytest.raises(UndecodableMessage):
        decode(kind, data)


def test_invalid_content_is_undecodable_with_the_path_of_the_field() -> None:
    message = grading_pb2.BatchGraded.FromString(encode(MESSAGES[2]))
    message.executions[0].execution.latency_seconds = -1
    with pytest.raises(UndecodableMessage) as refusal:
        decode(BatchGraded, message.SerializeToString())
    assert refusal.value.reason.startswith("executions.0.execution.latency_seconds: ")
