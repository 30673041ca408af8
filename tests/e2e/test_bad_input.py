"""What the door refuses, and that a message nobody can read harms no service."""

import asyncio
from collections.abc import AsyncIterator, Callable

import grpc
import nats
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.converters.requests import encode_submit_search_request
from graphwright.local.servers import TritonServer

from .ring import Ring, a_spec, ring


@pytest.fixture(scope="module")
async def door(
    tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, triton: TritonServer
) -> AsyncIterator[Ring]:
    async with ring(tmp_path_factory.mktemp("door"), mongodb_uri, triton) as running:
        yield running


def _set(field: str, value: object) -> Callable[[pb.SearchSpec], None]:
    return lambda spec: setattr(spec, field, value)


def _budget(metric: pb.BudgetMetric, limit: float) -> Callable[[pb.SearchSpec], None]:
    def change(spec: pb.SearchSpec) -> None:
        spec.budget.metric = metric
        spec.budget.limit = limit

    return change


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (_set("task", "astrology"), "spec.task", "unknown task 'astrology'"),
        (_set("task", ""), "spec.task", "at least 1 character"),
        (_set("task", "t" * 65), "spec.task", "at most 64 characters"),
        (_set("task", "../etc"), "spec.task", "pattern"),
        (_set("pool", "ocean"), "spec.pool", "unknown pool 'ocean'"),
        (_set("optimizer", "luck"), "spec.optimizer", "unknown optimizer 'luck'"),
        (_set("agent", pb.AGENT_KIND_LLM), "spec.agent", "no agent endpoint"),
        (_set("agent", 99), "spec.agent", "99"),
        (_set("iterations", 0), "spec.iterations", "greater than or equal to 1"),
        (_set("iterations", 10**6), "spec.iterations", "less than or equal to 1000"),
        (_set("graphs", 65), "spec.graphs", "less than or equal to 64"),
        (_set("batch", 1024), "spec.batch", "questions"),
        (_set("max_nodes", 97), "spec.max_nodes", "less than or equal to 96"),
        (_set("temperature", -0.1), "spec.temperature", "greater than or equal to 0"),
        (_set("temperature", float("nan")), "spec.temperature", "finite"),
        (_set("top_p", 1.5), "spec.top_p", "less than or equal to 1"),
        (_set("seed", 2**63), "spec.seed", "less than"),
        (_budget(pb.BUDGET_METRIC_FLOPS, -1), "spec.budget.limit", "greater than 0"),
        (_budget(pb.BUDGET_METRIC_FLOPS, float("inf")), "spec.budget.limit", "finite number"),
        (_budget(pb.BUDGET_METRIC_FLOPS, 0.5), "spec.budget.limit", "no graph fits"),
        (_budget(pb.BUDGET_METRIC_USD, 1e-12), "spec.budget.limit", "no graph fits"),
        (_budget(pb.BUDGET_METRIC_LATENCY, 1), "spec.budget.metric", "seconds"),
        (lambda spec: spec.ClearField("budget"), "spec.budget", "required"),
    ],
)
async def test_a_faulty_specification_is_refused_naming_the_field(
    door: Ring, change: Callable[[pb.SearchSpec], None], field: str, says: str
) -> None:
    request = encode_submit_search_request("faulty", a_spec())
    change(request.spec)
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await door.stub.SubmitSearch(request, timeout=10)
    assert refusal.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.value.details().startswith(f"{field}: ")
    assert says in refusal.value.details()


async def test_request_ids_are_required_and_bounded(door: Ring) -> None:
    for request_id in ("", "x" * 129):
        request = encode_submit_search_request(request_id, a_spec())
        with pytest.raises(grpc.aio.AioRpcError, match="request_id: "):
            await door.stub.SubmitSearch(request, timeout=10)


async def test_a_request_id_is_not_reused_for_another_search(door: Ring) -> None:
    first = await door.submit(a_spec(optimizer="random", iterations=1), request_id="mine")
    with pytest.raises(grpc.aio.AioRpcError, match="used before"):
        await door.submit(a_spec(seed=99), request_id="mine")
    await door.finish(first)


@pytest.mark.parametrize("method", ["GetSearch", "CancelSearch", "ListTrials"])
async def test_an_unknown_search_is_not_found(door: Ring, method: str) -> None:
    request = getattr(pb, f"{method}Request")(search_id="nobody")
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await getattr(door.stub, method)(request, timeout=10)
    assert refusal.value.code() is grpc.StatusCode.NOT_FOUND


async def test_watching_an_unknown_search_is_not_found(door: Ring) -> None:
    for search_id in ("nobody", "a.b", ""):
        request = pb.WatchSearchRequest(search_id=search_id)
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            async for _ in door.stub.WatchSearch(request, timeout=10):
                pass
        assert refusal.value.code() is grpc.StatusCode.NOT_FOUND


async def test_faulty_pages_are_refused(door: Ring) -> None:
    for request in (
        pb.ListSearchesRequest(page_size=0),
        pb.ListSearchesRequest(page_size=1001),
        pb.ListSearchesRequest(page_token="nonsense"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await door.stub.ListSearches(request, timeout=10)
        assert refusal.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.value.details().startswith("page_")


async def test_unreadable_messages_are_dead_lettered_with_a_reason_and_services_live_on(
    door: Ring,
) -> None:
    connection = await nats.connect(door.nats.url)
    stream = connection.jetstream()
    for subject in ("graphwright.v1.execute", "graphwright.v1.executed"):
        await stream.publish(subject, b"\xff\xfe not protobuf")
    letters = await stream.pull_subscribe(
        "graphwright.v1.dead.>", stream="GRAPHWRIGHT_DEAD_LETTERS"
    )
    async with asyncio.timeout(20):
        found = [message for _ in range(2) for message in await letters.fetch(1, timeout=15)]
    reasons = [dict(letter.headers or {}) for letter in found]
    assert all(any("Reason" in key and value for key, value in r.items()) for r in reasons)
    assert {letter.data for letter in found} == {b"\xff\xfe not protobuf"}
    await connection.close()
    search, _ = await door.run(a_spec(optimizer="random", iterations=1))
    assert search.state == "succeeded"


async def test_health_and_reflection_answer(door: Ring) -> None:
    port = door.environment["GRAPHWRIGHT_PLANNER_GRPC_PORT"]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        health = await health_pb2_grpc.HealthStub(channel).Check(
            health_pb2.HealthCheckRequest(service="graphwright.contracts.v1.SearchService")
        )
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        requests = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = [answer async for answer in stub.ServerReflectionInfo(requests)]
    names = {service.name for service in answers[0].list_services_response.service}
    assert "graphwright.contracts.v1.SearchService" in names
