"""The planner's composition root."""

import asyncio
import os
import socket
from collections.abc import Sequence

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from graphwright.archive.mongo import MongoArchive
from graphwright.archive.port import ArchiveUnavailable, Lease
from graphwright.bus.nats import NatsBus
from graphwright.contracts.v1 import search_pb2, search_pb2_grpc
from graphwright.planner.admission import admit
from graphwright.planner.agent.rules import RuleAgent
from graphwright.planner.claims import Claims
from graphwright.planner.environment import Environment
from graphwright.planner.optimizers.registry import OPTIMIZERS
from graphwright.planner.servicer import SearchServicer
from graphwright.planner.session import SearchSession
from graphwright.planner.settings import PlannerSettings
from graphwright.planner.tenure import Tenure
from graphwright.search.search import Search
from graphwright.telemetry import logging, metrics
from graphwright.telemetry.http import HttpEndpoint
from graphwright.telemetry.process import run_until_signal

GRACE_SECONDS = 5.0
SERVICE = search_pb2.DESCRIPTOR.services_by_name["SearchService"].full_name

log = structlog.get_logger()


class Planner:
    """The planner's parts, wired."""

    def __init__(self, settings: PlannerSettings, archive: MongoArchive, bus: NatsBus) -> None:
        self._settings = settings
        self._archive = archive
        self._bus = bus

    def claims(self) -> Claims:
        """The loop that takes up searches."""
        settings = self._settings
        return Claims(
            self._archive,
            f"{socket.gethostname()}-{os.getpid()}",
            self._tenure,
            searches=settings.searches,
            lease_seconds=settings.lease_seconds,
            poll_seconds=settings.claim_seconds,
        )

    def _tenure(self, lease: Lease) -> Tenure:
        return Tenure(
            self._archive,
            self._bus,
            lease,
            self._run_session,
            lease_seconds=self._settings.lease_seconds,
        )

    async def _run_session(self, search: Search, lease: Lease) -> None:
        admitted = await asyncio.to_thread(admit, search.spec)
        environment = Environment(
            self._bus,
            self._archive,
            admitted,
            lease,
            questions_per_batch=self._settings.questions_per_batch,
            batch_seconds=self._settings.batch_seconds,
        )
        session = SearchSession(
            search,
            lease,
            admitted,
            OPTIMIZERS[search.spec.optimizer](admitted.problem),
            RuleAgent(),
            environment,
            self._archive,
            self._bus,
        )
        await session.run()

    async def missing(self) -> Sequence[str]:
        """What the planner lacks to do its work."""
        reasons = [] if self._bus.connected else ["NATS is not connected"]
        try:
            await self._archive.ping()
        except ArchiveUnavailable as error:
            reasons.append(f"MongoDB: {error}")
        return reasons


async def serve(stopping: asyncio.Event) -> None:
    """Run the planner until `stopping` is set."""
    settings = PlannerSettings()
    logging.configure("planner", settings.log_level)
    archive = await MongoArchive.connect(settings.mongodb_uri, settings.mongodb_database)
    bus = await NatsBus.connect(
        settings.nats_url,
        name="planner",
        ack_wait=settings.ack_wait_seconds,
        observe=metrics.count_message,
    )
    planner = Planner(settings, archive, bus)
    server = await _start_grpc(SearchServicer(archive, bus), settings.grpc_port)
    try:
        async with HttpEndpoint(settings.http_port, planner.missing) as http:
            log.info("started", grpc_port=settings.grpc_port, http_port=http.port)
            await planner.claims().run(stopping)
            await server.stop(GRACE_SECONDS)
    finally:
        await bus.close()
        await archive.close()
    log.info("stopped")


async def _start_grpc(servicer: SearchServicer, port: int) -> grpc.aio.Server:
    # Clients that follow a search ping while nothing happens in it.
    options = (("grpc.http2.min_ping_interval_without_data_ms", 10_000),)
    server = grpc.aio.server(options=options)
    search_pb2_grpc.add_SearchServiceServicer_to_server(servicer, server)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    for name in ("", SERVICE):
        await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection((SERVICE, reflection.SERVICE_NAME), server)
    server.add_insecure_port(f"[::]:{port}")
    await server.start()
    return server


def main() -> None:
    """Entry point of the planner process."""
    asyncio.run(run_until_signal(serve))
