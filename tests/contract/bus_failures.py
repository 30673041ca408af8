"""What every bus must make of what a handler raises, and of a handler that dies."""

import asyncio
from time import monotonic

from graphwright.bus.port import BusUnavailable, DeadLetter, Rejected, RetryLater
from graphwright.converters.wire import encode
from graphwright.search.messages import BatchGraded, ExecuteBatch

from .bus_steps import (
    Backstage,
    Connect,
    Inbox,
    Victim,
    an_execute_batch,
    eventually_equal,
)


class FailureSuite:
    """The consequence of what a handler raises."""

    async def test_retry_later_delivers_again_after_the_delay(self, connect: Connect) -> None:
        async def refuse_once(count: int) -> None:
            if count == 1:
                raise RetryLater("busy", delay=0.5)

        bus, inbox = await connect(), Inbox(refuse_once)
        await bus.publish(an_execute_batch())
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(2)
        assert 0.45 <= inbox.times[1] - inbox.times[0] < 2

    async def test_retry_later_never_uses_up_a_message(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        async def refuse_often(count: int) -> None:
            if count < 9:
                raise RetryLater("busy", delay=0.01)

        bus, inbox = await connect(max_deliver=3), Inbox(refuse_often)
        await bus.publish(an_execute_batch())
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(9)
            await eventually_equal(backstage.queued, 0)
        assert await backstage.dead_letters() == []

    async def test_a_handler_that_could_not_publish_uses_up_no_message(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        async def find_no_room(count: int) -> None:
            if count < 5:
                raise BusUnavailable("the work queue is full")

        bus, inbox = await connect(max_deliver=2, backoff=0.01), Inbox(find_no_room)
        await bus.publish(an_execute_batch())
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(5)
            await eventually_equal(backstage.queued, 0)
        assert await backstage.dead_letters() == []

    async def test_a_rejected_message_dies_with_its_reason_and_the_rest_live_on(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        async def reject_first(count: int) -> None:
            if count == 1:
                raise Rejected("the task set is another one: ü\nsee its hash")

        bus, inbox = await connect(), Inbox(reject_first)
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await bus.publish(an_execute_batch("bad"))
            await inbox.holds(1)
            await bus.publish(an_execute_batch("good"))
            await inbox.holds(2)
            await eventually_equal(backstage.queued, 0)
        (letter,) = await backstage.dead_letters()
        assert letter.reason.startswith("the task set is another one: \\xfc")
        assert letter.subject.endswith(".v1.execute")
        assert letter.deliveries == 1
        assert letter.data == encode(an_execute_batch("bad"))

    async def test_an_undecodable_message_dies_and_the_rest_live_on(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus, inbox = await connect(), Inbox()
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await backstage.inject(ExecuteBatch, b"\xff\xff garbage")
            await bus.publish(an_execute_batch("good"))
            await inbox.holds(1)
            await eventually_equal(backstage.queued, 0)
        (letter,) = await backstage.dead_letters()
        assert letter.reason.startswith("not a valid ExecuteBatch")
        assert letter.data == b"\xff\xff garbage"

    async def test_a_failing_handler_is_tried_again_until_the_limit_and_then_the_message_dies(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        async def fail(_count: int) -> None:
            raise ZeroDivisionError("by design")

        bus, inbox = await connect(max_deliver=3, backoff=0.3), Inbox(fail)
        await bus.publish(an_execute_batch())
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await eventually_equal(backstage.queued, 0)
        assert len(inbox.messages) == 3
        first, second = inbox.times[1] - inbox.times[0], inbox.times[2] - inbox.times[1]
        assert 0.28 <= first < 0.58 <= second
        (letter,) = await backstage.dead_letters()
        assert "failed 3 times" in letter.reason
        assert "ZeroDivisionError: by design" in letter.reason

    async def test_a_handler_that_cancels_itself_fails_like_any_other(
        self, connect: Connect
    ) -> None:
        async def cancel_once(count: int) -> None:
            if count == 1:
                raise asyncio.CancelledError

        bus, inbox = await connect(backoff=0.05), Inbox(cancel_once)
        await bus.publish(an_execute_batch())
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(2)

    async def test_what_a_crashed_consumer_held_is_delivered_again(
        self, connect: Connect, victim: Victim
    ) -> None:
        bus, inbox = await connect(ack_wait=1), Inbox()
        await bus.publish(an_execute_batch())
        await victim(ack_wait=1, max_deliver=5)
        killed = monotonic()
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await inbox.holds(1)
        assert inbox.times[0] - killed < 4

    async def test_a_message_that_kills_its_consumers_dies_and_does_not_clog_the_queue(
        self, connect: Connect, backstage: Backstage, victim: Victim
    ) -> None:
        bus, inbox = await connect(ack_wait=1, max_deliver=2), Inbox()
        await bus.publish(an_execute_batch("poison"))
        for _ in range(2):
            await victim(ack_wait=1, max_deliver=2)
        async with bus.consume(ExecuteBatch, inbox, concurrency=1):
            await bus.publish(an_execute_batch("good"))
            await inbox.holds(1)
            await eventually_equal(backstage.queued, 0)
        assert inbox.batch_ids == ["good"]
        (letter,) = await backstage.dead_letters()
        assert letter.reason == "delivered 2 times without an answer"
        assert letter.data == encode(an_execute_batch("poison"))

    async def test_who_listens_learns_which_batch_of_a_search_died_and_why(
        self, connect: Connect
    ) -> None:
        async def reject(_count: int) -> None:
            raise Rejected("no such pool")

        bus, inbox = await connect(), Inbox(reject)
        again = an_execute_batch("b2").model_copy(update={"attempt": 1})
        async with (
            bus.dead_letters("s1") as letters,
            bus.consume(ExecuteBatch, inbox, concurrency=1),
        ):
            for batch in (an_execute_batch("other", search_id="s2"), again):
                await bus.publish(batch)
            async with asyncio.timeout(5):
                letter = await anext(letters)
        assert letter == DeadLetter(batch_id="b2", attempt=1, reason="no such pool")

    async def test_an_undecodable_message_names_its_batch_if_it_can(
        self, connect: Connect, backstage: Backstage
    ) -> None:
        bus = await connect()
        async with (
            bus.dead_letters("s1") as letters,
            bus.consume(BatchGraded, Inbox(), concurrency=1, search_id="s1"),
        ):
            await backstage.inject(BatchGraded, b"garbage")
            await backstage.inject(BatchGraded, b"garbage", batch_id="b7")
            async with asyncio.timeout(5):
                letter = await anext(letters)
        assert letter.batch_id == "b7"
        assert letter.reason.startswith("not a valid BatchGraded")
