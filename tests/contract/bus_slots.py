"""What every bus must do about handlers that run side by side, long, or while one leaves."""

import asyncio
from time import monotonic

import pytest

from graphwright.search.messages import ExecuteBatch

from .bus_steps import (
    Backstage,
    Connect,
    Inbox,
    an_execute_batch,
    eventually_equal,
)


class ConcurrencySuite:
    """Slots, renewal and leaving."""

    async def test_at_most_so_many_handlers_at_a_time(self, connect: Connect) -> None:
        running, peak = 0, 0

        async def measure(_count: int) -> None:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(0.05)
            running -= 1

        bus, inbox = await connect(), Inbox(measure)
        for number in range(12):
            await bus.publish(an_execute_batch(f"b{number}"))
        async with bus.consume(ExecuteBatch, inbox, concurrency=3):
            await inbox.holds(12)
        assert peak == 3

    async def test_messages_beyond_the_slots_are_left_to_others(self, connect: Connect) -> None:
        hang = asyncio.Event()
        busy, idle = await connect(drain_seconds=0.1), await connect()
        stuck, inbox = Inbox(lambda _: wait_for(hang)), Inbox()
        async with busy.consume(ExecuteBatch, stuck, concurrency=1):
            for number in range(4):
                await busy.publish(an_execute_batch(f"b{number}"))
            await stuck.holds(1)
            async with idle.consume(ExecuteBatch, inbox, concurrency=1):
                await inbox.holds(3, seconds=2)
            hang.set()

    async def test_a_slow_handler_does_not_hold_up_the_others(self, connect: Connect) -> None:
        hang = asyncio.Event()

        async def first_hangs(count: int) -> None:
            if count == 1:
                await hang.wait()

        bus, inbox = await connect(), Inbox(first_hangs)
        async with bus.consume(ExecuteBatch, inbox, concurrency=2):
            for number in range(10):
                await bus.publish(an_execute_batch(f"b{number}"))
            await inbox.holds(10, seconds=3)
            hang.set()

    async def test_a_handler_may_take_longer_than_the_wait_for_an_answer(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus, inbox = await connect(ack_wait=1), Inbox(lambda _: asyncio.sleep(2.5))
        await bus.publish(an_execute_batch())
        async with bus.consume(ExecuteBatch, inbox, concurrency=2):
            await inbox.holds(1)
            await eventually_equal(backstage.queued, 0)
        assert len(inbox.messages) == 1

    async def test_leaving_lets_handlers_finish(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        finished: list[int] = []

        async def finish(count: int) -> None:
            await asyncio.sleep(0.3)
            finished.append(count)

        bus, inbox = await connect(), Inbox(finish)
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await bus.publish(an_execute_batch())
            await inbox.holds(1)
        assert finished == [1]
        assert await backstage.queued() == 0

    @pytest.mark.parametrize("max_deliver", [5, 1])
    async def test_leaving_hands_back_at_once_what_does_not_finish(
        self, connect: Connect, backstage: Backstage, max_deliver: int
    ) -> None:
        leaving = await connect(drain_seconds=0.2, max_deliver=max_deliver)
        staying = await connect(max_deliver=max_deliver)
        stuck, inbox = Inbox(lambda _: asyncio.sleep(60)), Inbox()
        async with leaving.consume(ExecuteBatch, stuck, concurrency=2):
            for number in range(4):
                await leaving.publish(an_execute_batch(f"b{number}"))
            await stuck.holds(2)
            left = monotonic()
        assert monotonic() - left < 1.5
        async with staying.consume(ExecuteBatch, inbox, concurrency=4):
            await inbox.holds(4, seconds=2)
            await eventually_equal(backstage.queued, 0)
        assert await backstage.dead_letters() == []

    async def test_leaving_takes_no_message_that_waits(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus, inbox = await connect(), Inbox()
        async with bus.consume(ExecuteBatch, inbox, concurrency=3):
            await asyncio.sleep(0.1)
        await bus.publish(an_execute_batch())
        await asyncio.sleep(0.2)
        assert inbox.messages == []
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(1, seconds=2)


async def wait_for(event: asyncio.Event) -> None:
    await event.wait()
