"""What every bus must do between a publisher and one handler."""

import asyncio

import pytest

from graphwright.bus.nats_blobs import MessageTooLarge
from graphwright.search.messages import BatchExecuted, BatchGraded, ExecuteBatch

from .bus_steps import (
    Backstage,
    Connect,
    Inbox,
    a_batch_executed,
    a_batch_graded,
    an_execute_batch,
    eventually_equal,
)


class DeliverySuite:
    """From a publisher to one handler."""

    async def test_hands_over_what_was_published_before_and_after(self, connect: Connect) -> None:
        bus, inbox = await connect(), Inbox()
        await bus.publish(an_execute_batch("b1"))
        async with bus.consume(ExecuteBatch, inbox, concurrency=2):
            await bus.publish(an_execute_batch("b2"))
            await inbox.holds(2)
        assert sorted(inbox.batch_ids) == ["b1", "b2"]
        assert inbox.messages[0] == an_execute_batch(inbox.batch_ids[0])

    async def test_keeps_the_kinds_apart(self, connect: Connect) -> None:
        bus, commands, results = await connect(), Inbox(), Inbox()
        async with (
            bus.consume(ExecuteBatch, commands, concurrency=1),
            bus.consume(BatchExecuted, results, concurrency=1),
        ):
            await bus.publish(an_execute_batch("command"))
            await bus.publish(a_batch_executed("result"))
            await commands.holds(1)
            await results.holds(1)
        assert (commands.batch_ids, results.batch_ids) == (["command"], ["result"])

    async def test_a_message_goes_to_one_of_several_consumers(self, connect: Connect) -> None:
        one, other, inbox = await connect(), await connect(), Inbox()
        async with (
            one.consume(ExecuteBatch, inbox, concurrency=2),
            other.consume(ExecuteBatch, inbox, concurrency=2),
        ):
            for number in range(20):
                await one.publish(an_execute_batch(f"b{number}"))
            await inbox.holds(20)
            await asyncio.sleep(0.2)
        assert len(set(inbox.batch_ids)) == len(inbox.batch_ids) == 20

    async def test_the_same_batch_and_attempt_is_stored_once(self, connect: Connect) -> None:
        bus, inbox = await connect(), Inbox()
        for _ in range(3):
            await bus.publish(an_execute_batch("b1"))
        await bus.publish(an_execute_batch("b1").model_copy(update={"attempt": 1}))
        await bus.publish(an_execute_batch("b1", search_id="s2"))
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(3)
            await asyncio.sleep(0.2)
        assert len(inbox.messages) == 3

    async def test_a_handled_message_leaves_the_queue(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus, inbox = await connect(), Inbox()
        await bus.publish(an_execute_batch())
        assert await backstage.queued() == 1
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await eventually_equal(backstage.queued, 0)

    @pytest.mark.parametrize("size", [600_000, 1_500_000])
    async def test_large_messages_pass_and_leave_nothing_behind(
        self, connect: Connect, backstage: Backstage, size: int
    ) -> None:
        bus, inbox = await connect(), Inbox()
        large = an_execute_batch(text="x" * size)
        await bus.publish(large)
        await bus.publish(large)
        assert await backstage.blobs() == 1
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(1)
            await eventually_equal(backstage.blobs, 0)
        assert inbox.messages == [large]

    async def test_a_message_over_8_mib_is_refused(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus = await connect()
        with pytest.raises(MessageTooLarge, match="ExecuteBatch of 8388"):
            await bus.publish(an_execute_batch(text="x" * 8 * 1024 * 1024))
        assert (await backstage.queued(), await backstage.blobs()) == (0, 0)

    async def test_graded_batches_go_to_their_search(self, connect: Connect) -> None:
        bus, one, two = await connect(), Inbox(), Inbox()
        async with (
            bus.consume(BatchGraded, one, concurrency=1, search_id="s1"),
            bus.consume(BatchGraded, two, concurrency=1, search_id="s2"),
        ):
            for search_id in ("s2", "s1", "s2"):
                await bus.publish(a_batch_graded(search_id, f"b{len(two.messages)}"))
                await asyncio.sleep(0.1)
            await one.holds(1)
            await two.holds(2)
        assert {message.search_id for message in one.messages} == {"s1"}
        assert {message.search_id for message in two.messages} == {"s2"}

    async def test_a_search_that_is_forgotten_leaves_nothing(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus, inbox = await connect(), Inbox()
        await bus.publish(an_execute_batch("b1", text="x" * 600_000))
        await bus.publish(a_batch_executed("b1"))
        await bus.publish(a_batch_graded("s1"))
        await bus.publish(a_batch_graded("s1", "b2", reason="x" * 600_000))
        await bus.publish(a_batch_graded("s2"))
        await bus.publish(an_execute_batch("other", search_id="s2"))
        await bus.forget("s1")
        assert (await backstage.queued(), await backstage.blobs()) == (2, 0)
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(1)
        assert inbox.batch_ids == ["other"]

    async def test_forgetting_a_search_that_was_never_there_is_fine(self, connect: Connect) -> None:
        bus = await connect()
        await bus.forget("never")
