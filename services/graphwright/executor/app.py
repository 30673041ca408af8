"""The executor's composition root."""

import asyncio
from collections.abc import Sequence

import structlog

from graphwright.archive.mongo_calls import MongoCallCache
from graphwright.bus.nats import NatsBus
from graphwright.executor.caller import Caller
from graphwright.executor.service import ExecuteBatchHandler
from graphwright.executor.settings import ExecutorSettings
from graphwright.inference.catalog import open_models
from graphwright.pools.pool import ModelPool, load_pool
from graphwright.search.messages import ExecuteBatch
from graphwright.tasks.catalog import load_task
from graphwright.telemetry import logging, metrics
from graphwright.telemetry.http import HttpEndpoint
from graphwright.telemetry.process import run_until_signal

log = structlog.get_logger()


class Callers:
    """One caller per pool, opened when a batch first asks for the pool."""

    def __init__(self, settings: ExecutorSettings, cache: MongoCallCache) -> None:
        self._settings = settings
        self._cache = cache
        self._callers: dict[str, Caller] = {}

    def of(self, pool: ModelPool) -> Caller:
        """The caller of a pool."""
        if pool.name not in self._callers:
            for card in pool.models:
                metrics.initialise_model(card.name)
            self._callers[pool.name] = Caller(
                pool,
                open_models(pool, self._settings.triton_url),
                self._cache,
                timeout=self._settings.call_seconds,
            )
        return self._callers[pool.name]

    async def close(self) -> None:
        """Close every pool's models."""
        for caller in self._callers.values():
            await caller.close()


async def serve(stopping: asyncio.Event) -> None:
    """Run the executor until `stopping` is set; batches in hand are finished or given back."""
    settings = ExecutorSettings()
    logging.configure("executor", settings.log_level)
    cache = await MongoCallCache.connect(settings.mongodb_uri, settings.mongodb_database)
    bus = await NatsBus.connect(
        settings.nats_url,
        name="executor",
        ack_wait=settings.ack_wait_seconds,
        observe=metrics.count_message,
    )
    callers = Callers(settings, cache)
    handler = ExecuteBatchHandler(bus, load_task, load_pool, callers.of)

    async def missing() -> Sequence[str]:
        return [] if bus.connected else ["NATS is not connected"]

    try:
        async with (
            HttpEndpoint(settings.http_port, missing) as http,
            bus.consume(ExecuteBatch, handler, concurrency=settings.batches),
        ):
            log.info("started", http_port=http.port)
            await stopping.wait()
    finally:
        await callers.close()
        await bus.close()
        await cache.close()
    log.info("stopped")


def main() -> None:
    """Entry point of the executor process."""
    asyncio.run(run_until_signal(serve))
