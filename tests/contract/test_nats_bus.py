"""NatsBus keeps the bus's contract, and what JetStream adds to it."""

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
from nats.js.api import RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import NotFoundError

from graphwright.bus.nats import NatsBus
from graphwright.bus.nats_dead import DELIVERIES, REASON, SUBJECT
from graphwright.bus.nats_streams import Layout, StreamConflict, UnusableName
from graphwright.bus.port import BusUnavailable, Rejected
from graphwright.local.servers import NatsServer, nats_server
from graphwright.search.messages import BatchGraded, ExecuteBatch, RingMessage

from .bus_steps import (
    Connect,
    DeadLetter,
    Inbox,
    Victim,
    an_event,
    an_execute_batch,
    eventually,
    eventually_equal,
)
from .bus_suite import BusSuite

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

    async def inject(self, kind: type[RingMessage], data: bytes) -> None:
        await self.js.publish(self.layout.route(kind, "s1").subject, data)

    async def dead_letters(self) -> Sequence[DeadLetter]:
        stream = self.layout.stream("DEAD_LETTERS")
        reader = await self.js.pull_subscribe(self.layout.subject("dead.>"), stream=stream)
        letters = []
        try:
            while True:
                (message,) = await reader.fetch(1, timeout=0.2)
                headers = message.headers or {}
                place, deliveries = headers[SUBJECT], int(headers[DELIVERIES])
                letters.append(DeadLetter(headers[REASON], place, deliveries, message.data))
                await message.ack()
        except Nothing:
            return letters

    async def queued(self) -> int:
        names = [self.layout.stream(name) for name in ("EXECUTE", "EXECUTED", "GRADED")]
        return sum([(await self.js.stream_info(name)).state.messages for name in names])

    async def blobs(self) -> int:
        info = await self.js.stream_info(f"OBJ_{self.layout.bucket}", subjects_filter="$O.*.C.>")
        return len(info.state.subjects or {})


@pytest.fixture(scope="module")
async def broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NatsServer]:
    """A server of our own: it is killed now and then."""
    async with nats_server(tmp_path_factory.mktemp("bus")) as server:
        yield server


@pytest.fixture
async def layout(broker: NatsServer) -> AsyncIterator[Layout]:
    layout = Layout(f"t{uuid4().hex[:12]}")
    yield layout
    # The server reserves room for every stream there is.
    client = await nats.connect(broker.url)
    for config in layout.stream_configs():
        with suppress(NotFoundError):
            await client.jetstream().delete_stream(str(config.name))
    await client.close()


@pytest.fixture
async def connect(broker: NatsServer, layout: Layout) -> AsyncIterator[Connect]:
    async with AsyncExitStack() as stack:

        async def open_bus(**options: Any) -> NatsBus:
            bus = await NatsBus.connect(broker.url, namespace=layout.namespace, **options)
            stack.push_async_callback(bus.close)
            return bus

        yield open_bus


@pytest.fixture
async def backstage(broker: NatsServer, layout: Layout) -> AsyncIterator[JetStream]:
    client = await nats.connect(broker.url)
    yield JetStream(client, layout)
    await client.close()


@pytest.fixture
def victim(broker: NatsServer, layout: Layout) -> Victim:
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


class TestNatsBus(BusSuite):
    """The whole contract, on a real server."""


async def test_streams_are_bounded_files_under_the_namespace(
    connect: Connect, backstage: JetStream
) -> None:
    await connect()
    prefix = backstage.layout.namespace.upper()
    for name in ("EXECUTE", "EXECUTED", "GRADED", "EVENTS", "DEAD_LETTERS", "EXHAUSTED"):
        config = (await backstage.js.stream_info(f"{prefix}_{name}")).config
        assert config.storage == StorageType.FILE
        assert (config.max_bytes or 0) > 0
        assert (config.max_age or 0) > 0
    queue = (await backstage.js.stream_info(f"{prefix}_EXECUTE")).config
    assert queue.retention == RetentionPolicy.WORK_QUEUE
    assert queue.subjects == [f"{backstage.layout.namespace}.v1.execute"]
    assert queue.discard == "new"


async def test_a_stream_with_another_limit_is_changed(
    connect: Connect, backstage: JetStream
) -> None:
    await connect()
    name = backstage.layout.stream("EXECUTE")
    config = (await backstage.js.stream_info(name)).config
    bounded = config.max_bytes
    await backstage.js.update_stream(config.evolve(max_bytes=1024))
    await connect()
    assert (await backstage.js.stream_info(name)).config.max_bytes == bounded


async def test_a_stream_that_cannot_be_changed_is_a_named_conflict(
    connect: Connect, backstage: JetStream
) -> None:
    name = backstage.layout.stream("EXECUTE")
    subject = backstage.layout.subject("execute")
    await backstage.js.add_stream(StreamConfig(name=name, subjects=[subject]))
    with pytest.raises(StreamConflict, match=f"{name} on NATS cannot be configured") as conflict:
        await connect()
    assert conflict.value.name == name


async def test_a_consumer_with_another_wait_is_changed(
    connect: Connect, backstage: JetStream
) -> None:
    stream = backstage.layout.stream("EXECUTE")
    for wait in (7, 9):
        bus = await connect(ack_wait=wait)
        async with bus.consume(ExecuteBatch, Inbox(), concurrency=1):
            info = await backstage.js.consumer_info(stream, "executor")
            assert info.config.ack_wait == wait
            assert (info.config.max_ack_pending or 0) > 0
            assert info.config.max_deliver == 5


async def test_a_consumer_that_cannot_be_changed_is_a_named_conflict(
    connect: Connect, backstage: JetStream
) -> None:
    bus = await connect()
    stream = backstage.layout.stream("EXECUTE")
    await backstage.js.add_consumer(stream, name="stranger", durable_name="stranger")
    with pytest.raises(StreamConflict, match=f"{stream}/executor"):
        async with bus.consume(ExecuteBatch, Inbox(), concurrency=1):
            pytest.fail("two consumers share a work queue")


async def test_a_consumer_that_is_deleted_comes_back(
    connect: Connect, backstage: JetStream
) -> None:
    bus, inbox = await connect(), Inbox()
    async with bus.consume(ExecuteBatch, inbox, concurrency=3):
        await asyncio.sleep(0.1)
        await backstage.js.delete_consumer(backstage.layout.stream("EXECUTE"), "executor")
        await bus.publish(an_execute_batch())
        await inbox.holds(1)


async def test_streams_that_are_lost_come_back(connect: Connect, backstage: JetStream) -> None:
    bus, inbox = await connect(), Inbox()
    async with bus.consume(ExecuteBatch, inbox, concurrency=1):
        await asyncio.sleep(0.1)
        await backstage.js.delete_stream(backstage.layout.stream("EXECUTE"))
        await bus.publish(an_execute_batch())
        await inbox.holds(1)


async def test_a_full_queue_refuses_and_says_so(connect: Connect, backstage: JetStream) -> None:
    bus = await connect()
    config = (await backstage.js.stream_info(backstage.layout.stream("EXECUTE"))).config
    await backstage.js.update_stream(config.evolve(max_bytes=2000))

    async def fill() -> None:
        for number in range(20):
            await bus.publish(an_execute_batch(f"b{number}"))

    with pytest.raises(BusUnavailable, match="maximum bytes exceeded"):
        await fill()


async def test_a_message_whose_payload_is_gone_dies(connect: Connect, backstage: JetStream) -> None:
    bus, inbox = await connect(), Inbox()
    await bus.publish(an_execute_batch(text="x" * 600_000))
    await backstage.js.purge_stream(f"OBJ_{backstage.layout.bucket}")
    async with bus.consume(ExecuteBatch, inbox, concurrency=1):
        await eventually_equal(backstage.queued, 0)
    (letter,) = await backstage.dead_letters()
    assert "is gone" in letter.reason
    assert inbox.messages == []


async def test_a_message_of_another_kind_dies(connect: Connect, backstage: JetStream) -> None:
    bus = await connect()
    subject = backstage.layout.subject("execute")
    await backstage.js.publish(subject, b"", headers={"Graphwright-Kind": "BatchGraded"})
    async with bus.consume(ExecuteBatch, Inbox(), concurrency=1):
        await eventually_equal(backstage.queued, 0)
    (letter,) = await backstage.dead_letters()
    assert letter.reason == "not a valid ExecuteBatch: it is a BatchGraded"


async def test_outcomes_are_observed(connect: Connect, backstage: JetStream) -> None:
    async def reject_first(count: int) -> None:
        if count == 1:
            raise Rejected("no")

    seen: list[tuple[str, str]] = []
    bus = await connect(observe=lambda kind, outcome: seen.append((kind, outcome)))
    async with bus.consume(ExecuteBatch, Inbox(reject_first), concurrency=1):
        for batch_id in ("b1", "b1", "b2"):
            await bus.publish(an_execute_batch(batch_id))
        await eventually(lambda: len(seen) == 5)
    assert sorted(seen) == [
        ("ExecuteBatch", outcome)
        for outcome in ("duplicate", "handled", "published", "published", "rejected")
    ]


async def test_a_watcher_survives_the_loss_of_its_consumer(
    connect: Connect, backstage: JetStream
) -> None:
    bus = await connect()
    stream = backstage.layout.stream("EVENTS")
    async with bus.events("s1") as events, asyncio.timeout(20):
        await bus.announce(an_event(1))
        assert await anext(events) == an_event(1)
        (consumer,) = await backstage.js.consumers_info(stream)
        await backstage.js.delete_consumer(stream, consumer.name)
        await bus.announce(an_event(2))
        assert await anext(events) == an_event(2)
    assert await backstage.js.consumers_info(stream) == []


async def test_graded_batches_need_a_search(connect: Connect) -> None:
    bus = await connect()
    with pytest.raises(ValueError, match="give its id"):
        async with bus.consume(BatchGraded, Inbox(), concurrency=1):
            pytest.fail("entered")
    with pytest.raises(UnusableName, match=r"the search id 'a\.b'"):
        async with bus.consume(BatchGraded, Inbox(), concurrency=1, search_id="a.b"):
            pytest.fail("entered")


async def test_no_server_is_a_clear_error() -> None:
    with pytest.raises(BusUnavailable, match=r"NATS at nats://127\.0\.0\.1:1"):
        await NatsBus.connect("nats://127.0.0.1:1", connect_seconds=0.5)


def test_a_namespace_must_fit_into_subjects() -> None:
    with pytest.raises(UnusableName, match="the namespace 'a b'"):
        Layout("a b")
