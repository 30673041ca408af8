"""What every bus must do; the method names are the specification.

Bind it by subclassing with the fixtures `connect`, `backstage`, `victim` and `broker`
(see `bus_steps`), which share one empty bus.
"""

import asyncio

import pytest

from graphwright.bus.port import BusUnavailable
from graphwright.search.messages import ExecuteBatch

from .bus_deliveries import DeliverySuite
from .bus_failures import FailureSuite
from .bus_slots import ConcurrencySuite
from .bus_steps import (
    Broker,
    Connect,
    Inbox,
    an_event,
    an_execute_batch,
    eventually,
)


class EventSuite:
    """Events for those who watch."""

    async def test_events_from_entering_on_in_order(self, connect: Connect) -> None:
        bus, watcher = await connect(), await connect()
        async with bus.events("s1") as earlier, asyncio.timeout(5):
            await bus.announce(an_event(1))
            await anext(earlier)
        async with watcher.events("s1") as events:
            await bus.announce(an_event(7, search_id="s2"))
            for sequence in range(2, 30):
                await bus.announce(an_event(sequence))
            async with asyncio.timeout(5):
                seen = [(await anext(events)).sequence for _ in range(28)]
        assert seen == list(range(2, 30))

    async def test_every_watcher_sees_every_event(self, connect: Connect) -> None:
        bus = await connect()
        async with bus.events("s1") as one, bus.events("s1") as other:
            await bus.announce(an_event(1))
            async with asyncio.timeout(5):
                assert (await anext(one), await anext(other)) == (an_event(1), an_event(1))


class OutageSuite:
    """The server dies and comes back."""

    async def test_work_goes_on_after_the_server_was_killed_and_restarted(
        self, connect: Connect, broker: Broker
    ) -> None:
        bus, inbox = await connect(), Inbox()
        async with (
            bus.events("s1") as events,
            bus.consume(ExecuteBatch, inbox, concurrency=2),
        ):
            await bus.publish(an_execute_batch("before"))
            await bus.announce(an_event(1))
            await inbox.holds(1)
            async with asyncio.timeout(5):
                assert await anext(events) == an_event(1)
            broker.kill()
            await eventually(lambda: not bus.connected)
            publishing = asyncio.create_task(bus.publish(an_execute_batch("during")))
            await asyncio.sleep(0.5)
            await broker.restart()
            await eventually(lambda: bus.connected)
            await publishing
            await bus.publish(an_execute_batch("after"))
            await inbox.holds(3, seconds=3)
            await bus.announce(an_event(2))
            async with asyncio.timeout(3):
                assert await anext(events) == an_event(2)
        assert set(inbox.batch_ids) == {"before", "during", "after"}

    async def test_a_bus_that_was_closed_says_so(self, connect: Connect) -> None:
        bus = await connect()
        assert bus.connected
        await bus.close()
        assert not bus.connected
        with pytest.raises(BusUnavailable):
            await bus.publish(an_execute_batch())


class BusSuite(DeliverySuite, FailureSuite, ConcurrencySuite, EventSuite, OutageSuite):
    """Base class of the tests of one bus."""
