"""NatsBus keeps the bus's contract, and what JetStream adds to it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from graphwright.bus.nats import NatsBus
from graphwright.bus.nats_streams import Layout, UnusableName
from graphwright.bus.port import BusUnavailable, Rejected
from graphwright.local.servers import NatsServer, nats_server
from graphwright.search.messages import BatchGraded, ExecuteBatch

from .bus_nats import JetStream, NatsFixtures
from .bus_steps import (
    Connect,
    Inbox,
    an_event,
    an_execute_batch,
    eventually,
    eventually_equal,
)
from .bus_suite import BusSuite


@pytest.fixture(scope="module")
async def broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NatsServer]:
    """A server of our own: it is killed now and then."""
    async with nats_server(tmp_path_factory.mktemp("bus")) as server:
        yield server


class TestNatsBus(NatsFixtures, BusSuite):
    """The whole contract, on a real server."""


class TestMessages(NatsFixtures):
    """What happens to messages beyond the contract."""

    async def test_a_message_whose_payload_is_gone_dies(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus, inbox = await connect(), Inbox()
        await bus.publish(an_execute_batch(text="x" * 600_000))
        await backstage.js.purge_stream(f"OBJ_{backstage.layout.bucket}")
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await eventually_equal(backstage.queued, 0)
        (letter,) = await backstage.dead_letters()
        assert "is gone" in letter.reason
        assert inbox.messages == []

    async def test_a_message_of_another_kind_dies(
        self, connect: Connect, backstage: JetStream
    ) -> None:
        bus = await connect()
        subject = backstage.layout.subject("execute")
        await backstage.js.publish(subject, b"", headers={"Graphwright-Kind": "BatchGraded"})
        async with bus.consume(ExecuteBatch, Inbox(), concurrency=1):
            await eventually_equal(backstage.queued, 0)
        (letter,) = await backstage.dead_letters()
        assert letter.reason == "not a valid ExecuteBatch: it is a BatchGraded"

    async def test_outcomes_are_observed(self, connect: Connect, backstage: JetStream) -> None:
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
        self, connect: Connect, backstage: JetStream
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

    async def test_graded_batches_need_a_search(self, connect: Connect) -> None:
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
