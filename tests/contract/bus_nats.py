"""A namespace on a real NATS server for each test, and what the server itself sees of it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any
from uuid import uuid4

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as Nothing
from nats.js.errors import NotFoundError

from graphwright.bus.nats import NatsBus
from graphwright.bus.nats_dead import BATCH, DELIVERIES, REASON, SEARCH, SUBJECT
from graphwright.bus.nats_streams import MIB, Layout
from graphwright.local.servers import NatsServer
from graphwright.search.messages import RingMessage

from .bus_steps import Connect, DeadMessage, Victim

VICTIM = """
import asyncio, sys

from graphwright.bus.nats import NatsBus
from graphwright.search.messages import ExecuteBatch

async def handler(message):
    print("got", flush=True)
    await asyncio.Event().wait()

async def main():
    url, namespace, ack_wait, max_deliver = sys.argv[1:]
    bus = await NatsBus.connect(
        url, namespace=namespace, ack_wait=float(ack_wait), max_deliver=int(max_deliver)
    )
    async with bus.consume(ExecuteBatch, handler, concurrency=1):
        await asyncio.Event().wait()

asyncio.run(main())
"""


class JetStream:
    """The server's own view of one namespace."""

    def __init__(self, client: Client, layout: Layout) -> None:
        self.client = client
        self.js = client.jetstream()
        self.layout = layout

    async def inject(
        self, kind: type[RingMessage], data: bytes, *, batch_id: str | None = None
    ) -> None:
        headers = {} if batch_id is None else {SEARCH: "s1", BATCH: batch_id}
        await self.js.publish(self.layout.route(kind, "s1").subject, data, headers=headers)

    async def dead_letters(self) -> Sequence[DeadMessage]:
        stream = self.layout.stream("DEAD_LETTERS")
        reader = await self.js.pull_subscribe(self.layout.subject("dead.>"), stream=stream)
        letters = []
        try:
            while True:
                (message,) = await reader.fetch(1, timeout=0.2)
                headers = message.headers or {}
                place, deliveries = headers[SUBJECT], int(headers[DELIVERIES])
                letters.append(DeadMessage(headers[REASON], place, deliveries, message.data))
                await message.ack()
        except Nothing:
            return letters

    async def queued(self) -> int:
        names = [self.layout.stream(name) for name in ("EXECUTE", "EXECUTED", "GRADED")]
        return sum([(await self.js.stream_info(name)).state.messages for name in names])

    async def blobs(self) -> int:
        info = await self.js.stream_info(f"OBJ_{self.layout.bucket}", subjects_filter="$O.*.C.>")
        return len(info.state.subjects or {})


class NatsFixtures:
    """Binds tests to NATS; their module has the fixture `broker`."""

    @pytest.fixture
    async def layout(self, broker: NatsServer) -> AsyncIterator[Layout]:
        layout = Layout(f"t{uuid4().hex[:12]}")
        yield layout
        # The server reserves room for every stream there is. A small one stays: with its last
        # stream the server removes their folder, at times just when the next test makes streams.
        large = [config for config in layout.stream_configs() if (config.max_bytes or 0) > 8 * MIB]
        client = await nats.connect(broker.url)
        for config in large:
            with suppress(NotFoundError):
                await client.jetstream().delete_stream(str(config.name))
        await client.close()

    @pytest.fixture
    async def connect(self, broker: NatsServer, layout: Layout) -> AsyncIterator[Connect]:
        async with AsyncExitStack() as stack:

            async def open_bus(**options: Any) -> NatsBus:
                bus = await NatsBus.connect(broker.url, namespace=layout.namespace, **options)
                stack.push_async_callback(bus.close)
                return bus

            yield open_bus

    @pytest.fixture
    async def backstage(self, broker: NatsServer, layout: Layout) -> AsyncIterator[JetStream]:
        client = await nats.connect(broker.url)
        yield JetStream(client, layout)
        await client.close()

    @pytest.fixture
    def victim(self, broker: NatsServer, layout: Layout) -> Victim:
        async def die(*, ack_wait: float, max_deliver: int) -> None:
            arguments = [broker.url, layout.namespace, str(ack_wait), str(max_deliver)]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", VICTIM, *arguments, stdout=asyncio.subprocess.PIPE
            )
            assert process.stdout is not None
            try:
                async with asyncio.timeout(20):
                    assert await process.stdout.readline() == b"got\n"
            finally:
                process.kill()
                await process.wait()

        return die
