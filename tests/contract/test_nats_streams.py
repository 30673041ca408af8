"""Streams, consumers and pull requests of NatsBus on a real server."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from nats.js.api import RetentionPolicy, StorageType, StreamConfig

from graphwright.bus.nats_events import EventFeed
from graphwright.bus.nats_pull import Pull
from graphwright.bus.nats_streams import StreamConflict, durable_config, ensure_consumer
from graphwright.bus.port import BusUnavailable
from graphwright.local.servers import NatsServer, nats_server
from graphwright.search.messages import ExecuteBatch

from .bus_nats import JetStream, NatsFixtures
from .bus_steps import Connect, Inbox, an_event, an_execute_batch


@pytest.fixture(scope="module")
async def broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NatsServer]:
    """A server of our own: streams are lost on it."""
    async with nats_server(tmp_path_factory.mktemp("bus")) as server:
        yield server


class TestStreams(NatsFixtures):
    """How streams and consumers are made, changed and made again."""

    async def test_streams_are_bounded_files_under_the_namespace(
        self, connect: Connect, backstage: JetStream
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
        self, connect: Connect, backstage: JetStream
    ) -> None:
        await connect()
        name = backstage.layout.stream("EXECUTE")
        config = (await backstage.js.stream_info(name)).config
        bounded = config.max_bytes
        await backstage.js.update_stream(config.evolve(max_bytes=1024))
        await connect()
        assert (await backstage.js.stream_info(name)).config.max_bytes == bounded

    async def test_a_stream_that_cannot_be_changed_is_a_named_conflict(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        name = backstage.layout.stream("EXECUTE")
        subject = backstage.layout.subject("execute")
        await backstage.js.add_stream(StreamConfig(name=name, subjects=[subject]))
        with pytest.raises(
            StreamConflict, match=f"{name} on NATS cannot be configured"
        ) as conflict:
            await connect()
        assert conflict.value.name == name

    async def test_a_consumer_with_another_wait_is_changed(
        self, connect: Connect, backstage: JetStream
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
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus = await connect()
        stream = backstage.layout.stream("EXECUTE")
        await backstage.js.add_consumer(stream, name="stranger", durable_name="stranger")
        with pytest.raises(StreamConflict, match=f"{stream}/executor"):
            async with bus.consume(ExecuteBatch, Inbox(), concurrency=1):
                pytest.fail("two consumers share a work queue")

    async def test_a_consumer_that_is_deleted_comes_back(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus, inbox = await connect(), Inbox()
        async with bus.consume(ExecuteBatch, inbox, concurrency=3):
            await asyncio.sleep(0.1)
            await backstage.js.delete_consumer(backstage.layout.stream("EXECUTE"), "executor")
            await bus.publish(an_execute_batch())
            await inbox.holds(1)

    async def test_streams_that_are_lost_come_back(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus, inbox = await connect(), Inbox()
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await asyncio.sleep(0.1)
            await backstage.js.delete_stream(backstage.layout.stream("EXECUTE"))
            await bus.publish(an_execute_batch())
            await inbox.holds(1)

    async def test_a_full_queue_refuses_and_says_so(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus = await connect()
        config = (await backstage.js.stream_info(backstage.layout.stream("EXECUTE"))).config
        await backstage.js.update_stream(config.evolve(max_bytes=2000))

        async def fill() -> None:
            for number in range(20):
                await bus.publish(an_execute_batch(f"b{number}"))

        with pytest.raises(BusUnavailable, match="maximum bytes exceeded"):
            await fill()


class TestPull(NatsFixtures):
    """Requests for messages that end early."""

    async def test_a_message_that_nobody_awaits_any_more_is_handed_back(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        pull, bus = await a_pull(connect, backstage), await connect()
        waiting = asyncio.create_task(pull.next())
        await asyncio.sleep(0.1)
        pull.interrupt()
        assert await waiting is None
        await bus.publish(an_execute_batch())
        await asyncio.sleep(0.1)
        message = await pull.next()
        assert message is not None
        assert message.metadata.num_delivered == 2
        await pull.close()

    async def test_a_pull_that_was_closed_takes_nothing_any_more(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        pull, bus = await a_pull(connect, backstage), await connect()
        waiting = asyncio.create_task(pull.next())
        await asyncio.sleep(0.1)
        await pull.close()
        assert (await waiting, await pull.next()) == (None, None)
        await bus.publish(an_execute_batch())
        await asyncio.sleep(0.1)
        info = await backstage.js.consumer_info(backstage.layout.stream("EXECUTE"), "executor")
        assert (info.num_pending, info.num_ack_pending) == (1, 0)

    async def test_an_event_that_got_lost_on_the_way_is_read_again(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus, stream = await connect(), backstage.layout.stream("EVENTS")
        subject = backstage.layout.events("s1")
        feed = EventFeed(backstage.client, backstage.js, stream, subject, "watcher")
        await feed.open()
        leaving = asyncio.ensure_future(anext(aiter(feed.events())))
        await asyncio.sleep(0.1)
        leaving.cancel()
        # The request of the one who left is still out, and takes this event.
        await bus.announce(an_event(1))
        await asyncio.sleep(0.1)
        await bus.announce(an_event(2))
        async with asyncio.timeout(5):
            events = feed.events()
            assert [await anext(events), await anext(events)] == [an_event(1), an_event(2)]
        await feed.close()


async def a_pull(connect: Connect, backstage: JetStream) -> Pull:
    await connect()
    route = backstage.layout.route(ExecuteBatch, None)
    await ensure_consumer(
        backstage.js, route.stream, durable_config(route, ack_wait=30, max_deliver=5)
    )
    pull = Pull(backstage.client, route.stream, route.durable)
    await pull.open()
    return pull
