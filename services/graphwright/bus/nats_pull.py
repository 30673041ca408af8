"""Asking a JetStream pull consumer for one message at a time, from many slots at once.

nats-py's `fetch` keeps a first message waiting for the rest of its batch and reports a consumer
that is gone as an ordinary timeout; here each slot has a request of its own and learns why a
request ended.
"""

import asyncio
import json
from contextlib import suppress
from itertools import count

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error

EXPIRES = 5.0
GRACE = 2.0
CLOSE_SECONDS = 2.0
_NO_MESSAGE = ("404", "408")


class PullLost(Exception):
    """A request ended without an answer, or with one that says the consumer cannot serve it."""

    def __init__(self, consumer: str, reason: str) -> None:
        super().__init__(f"consumer {consumer}: {reason}")
        self.consumer = consumer
        self.reason = reason


class Pull:
    """One subscription on which any number of slots await a message each.

    A message that nobody awaits any more is handed back at once, so that it does not lie idle
    until its acknowledgement is overdue.
    """

    def __init__(self, connection: Client, stream: str, consumer: str) -> None:
        self._connection = connection
        self._consumer = consumer
        self._request = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = connection.new_inbox()
        self._subscription: Subscription | None = None
        self._numbers = count()
        self._waiting: dict[str, asyncio.Future[Msg | None]] = {}
        self._closing = False

    async def open(self) -> None:
        """Subscribe to the inbox of the answers."""
        self._subscription = await self._connection.subscribe(f"{self._inbox}.*", cb=self._arrived)

    async def next(self) -> Msg | None:
        """The next message, or None if there was none for a while or the pull was interrupted.

        Raises:
            PullLost: the consumer is gone, or nothing answers.
        """
        if self._closing:
            return None
        inbox = f"{self._inbox}.{next(self._numbers)}"
        answer: asyncio.Future[Msg | None] = asyncio.get_running_loop().create_future()
        self._waiting[inbox] = answer
        request = json.dumps({"batch": 1, "expires": int(EXPIRES * 1e9)}).encode()
        try:
            await self._connection.publish(self._request, request, reply=inbox)
            async with asyncio.timeout(EXPIRES + GRACE):
                return await answer
        except TimeoutError:
            if answer.done() and not answer.cancelled():
                return answer.result()
            raise PullLost(self._consumer, "no answer") from None
        finally:
            self._waiting.pop(inbox, None)

    def interrupt(self) -> None:
        """End every request that is awaited; a server that restarted knows none of them."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(None)
        self._waiting.clear()

    async def close(self) -> None:
        """Take no further message; those that still arrive are handed back."""
        self._closing = True
        self.interrupt()
        if self._subscription is None:
            return
        # Draining waits until everything that the server has sent was handed back.
        with suppress(Error, TimeoutError, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._subscription.drain()  # type: ignore[no-untyped-call]

    async def _arrived(self, message: Msg) -> None:
        status = (message.headers or {}).get("Status")
        if status is None:
            await self._deliver(message)
            return
        answer = self._waiting.pop(message.subject, None)
        if answer is None or answer.done():
            return
        if status in _NO_MESSAGE:
            answer.set_result(None)
        else:
            reason = (message.headers or {}).get("Description", "refused")
            answer.set_exception(PullLost(self._consumer, f"{status} {reason}"))

    async def _deliver(self, message: Msg) -> None:
        # A delivery does not say which request it answers; the server serves the oldest first.
        while self._waiting:
            answer = self._waiting.pop(next(iter(self._waiting)))
            if not answer.done():
                answer.set_result(message)
                return
        await message.nak()
