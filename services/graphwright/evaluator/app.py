"""The evaluator's composition root."""

import asyncio
from collections.abc import Sequence

import structlog

from graphwright.bus.nats import NatsBus
from graphwright.evaluator.graders import GRADERS
from graphwright.evaluator.service import BatchExecutedHandler
from graphwright.evaluator.settings import EvaluatorSettings
from graphwright.search.messages import BatchExecuted
from graphwright.tasks.catalog import load_task
from graphwright.telemetry import logging, metrics
from graphwright.telemetry.http import HttpEndpoint
from graphwright.telemetry.process import run_until_signal

log = structlog.get_logger()


async def serve(stopping: asyncio.Event) -> None:
    """Run the evaluator until `stopping` is set; batches in hand are finished or given back."""
    settings = EvaluatorSettings()
    logging.configure("evaluator", settings.log_level)
    bus = await NatsBus.connect(
        settings.nats_url,
        name="evaluator",
        ack_wait=settings.ack_wait_seconds,
        observe=metrics.count_message,
    )
    handler = BatchExecutedHandler(bus, load_task, GRADERS)

    async def missing() -> Sequence[str]:
        return [] if bus.connected else ["NATS is not connected"]

    try:
        async with (
            HttpEndpoint(settings.http_port, missing) as http,
            bus.consume(BatchExecuted, handler, concurrency=settings.batches),
        ):
            log.info("started", http_port=http.port)
            await stopping.wait()
    finally:
        await bus.close()
    log.info("stopped")


def main() -> None:
    """Entry point of the evaluator process."""
    asyncio.run(run_until_signal(serve))
