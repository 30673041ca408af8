"""The whole ring for a test: real servers, each service a process that may be killed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import grpc

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.contracts.v1 import search_pb2_grpc
from graphwright.converters.requests import encode_submit_search_request
from graphwright.converters.search import decode_search
from graphwright.converters.trial import decode_trial
from graphwright.local.ports import free_ports
from graphwright.local.servers import NatsServer, TritonServer, nats_server
from graphwright.local.service import Service
from graphwright.search.budget import Budget
from graphwright.search.search import Search
from graphwright.search.spec import SearchSpec
from graphwright.search.trial import Trial

QUICK = {
    "GRAPHWRIGHT_PLANNER_LEASE_SECONDS": "1.5",
    "GRAPHWRIGHT_PLANNER_CLAIM_SECONDS": "0.1",
    "GRAPHWRIGHT_PLANNER_ACK_WAIT_SECONDS": "2",
    "GRAPHWRIGHT_EXECUTOR_ACK_WAIT_SECONDS": "2",
    "GRAPHWRIGHT_EVALUATOR_ACK_WAIT_SECONDS": "2",
}
"""Short leases and acknowledgement waits, so that what was killed is taken over soon."""

ENDED = (pb.SEARCH_STATE_SUCCEEDED, pb.SEARCH_STATE_FAILED, pb.SEARCH_STATE_CANCELLED)


def a_spec(**changes: object) -> SearchSpec:
    """A search of a few seconds."""
    values: dict[str, object] = {
        "task": "arithmetic",
        "pool": "pocket",
        "budget": Budget(limit=8),
        "iterations": 2,
        "graphs": 3,
        "batch": 6,
        "seed": 5,
    }
    return SearchSpec.model_validate(values | changes)


@dataclass
class Ring:
    """Services by label, their servers, and a stub of the planner."""

    folder: Path
    environment: Mapping[str, str]
    services: Mapping[str, Service]
    nats: NatsServer
    triton: TritonServer
    stub: search_pb2_grpc.SearchServiceStub
    database: str

    @asynccontextmanager
    async def second_planner(self) -> AsyncIterator[None]:
        """Another planner beside the first; the stub speaks to it from then on."""
        grpc_port, http_port = free_ports(2)
        environment = {**self.environment, "GRAPHWRIGHT_PLANNER_GRPC_PORT": str(grpc_port)}
        log = self.folder / "planner-2.log"
        service = Service("planner", http_port, environment, label="planner-2", log=log)
        async with service.running(), _stub(grpc_port) as self.stub:
            yield

    async def submit(self, spec: SearchSpec, request_id: str = "") -> Search:
        request = encode_submit_search_request(request_id or uuid4().hex, spec)
        return decode_search((await self.stub.SubmitSearch(request, timeout=10)).search)

    async def get(self, search_id: str) -> Search:
        response = await self.stub.GetSearch(pb.GetSearchRequest(search_id=search_id), timeout=10)
        return decode_search(response.search)

    async def finish(self, search: Search, seconds: float = 90) -> Search:
        """Wait for the end of a search, through planners that die on the way."""
        async with asyncio.timeout(seconds):
            while True:
                try:
                    search = await self.get(search.id)
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
                if search.state.ended:
                    return search
                await asyncio.sleep(0.1)

    async def trials(self, search_id: str) -> list[Trial]:
        found: list[Trial] = []
        token = ""
        while True:
            request = pb.ListTrialsRequest(search_id=search_id, page_size=7, page_token=token)
            page = await self.stub.ListTrials(request, timeout=10)
            found += [decode_trial(trial) for trial in page.trials]
            token = page.next_page_token
            if not token:
                return found

    async def run(self, spec: SearchSpec) -> tuple[Search, list[Trial]]:
        """Submit a search, wait for its success, and read its trials."""
        search = await self.finish(await self.submit(spec))
        assert search.state == "succeeded", search.error
        return search, await self.trials(search.id)


def essence(trials: list[Trial]) -> list[object]:
    """What must repeat exactly: everything but ids of the search, clocks, and who paid a call."""
    return [
        (
            *(t.id, t.iteration, t.stage, t.origin, t.graph, t.score, t.failed_questions),
            [(o.question_id, o.score, o.failed) for o in t.outcomes],
            (t.usage.calls, t.usage.prompt_tokens, t.usage.output_tokens),
        )
        for t in trials
    ]


@asynccontextmanager
async def ring(
    folder: Path,
    mongodb_uri: str,
    triton: TritonServer,
    *,
    executors: int = 1,
    **settings: str,
) -> AsyncIterator[Ring]:
    """A ring of its own: own NATS server, own database, shared MongoDB and Triton.

    `settings` are further environment variables of the services.
    """
    labels = ["planner", "evaluator", *(f"executor-{n}" for n in range(1, executors + 1))]
    grpc_port, *ports = free_ports(1 + len(labels))
    database = f"e2e_{uuid4().hex[:12]}"
    async with AsyncExitStack() as stack:
        nats = await stack.enter_async_context(nats_server(folder / "nats"))
        environment = (
            QUICK
            | settings
            | {
                "NATS_URL": nats.url,
                "MONGODB_URI": mongodb_uri,
                "MONGODB_DATABASE": database,
                "TRITON_URL": triton.grpc_url,
                "GRAPHWRIGHT_PLANNER_GRPC_PORT": str(grpc_port),
            }
        )
        services = {
            label: Service(
                label.partition("-")[0],
                port,
                environment,
                label=label,
                log=folder / f"{label}.log",
            )
            for label, port in zip(labels, ports, strict=True)
        }
        await asyncio.gather(
            *(stack.enter_async_context(service.running()) for service in services.values())
        )
        stub = await stack.enter_async_context(_stub(grpc_port))
        yield Ring(folder, environment, services, nats, triton, stub, database)


@asynccontextmanager
async def _stub(grpc_port: int) -> AsyncIterator[search_pb2_grpc.SearchServiceStub]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
        yield search_pb2_grpc.SearchServiceStub(channel)
