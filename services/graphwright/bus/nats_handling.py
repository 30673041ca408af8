"""What happens to one delivered message, from its bytes to its acknowledgement."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Generic

import structlog
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext

from graphwright.bus.nats_blobs import Blobs
from graphwright.bus.nats_dead import KIND, MESSAGE_ID, DeadLetters
from graphwright.bus.port import BusUnavailable, Handler, M, Rejected, RetryLater
from graphwright.converters.wire import UndecodableMessage, decode

CONFIRM_SECONDS = 5.0
LONGEST_BACKOFF = 30.0

Observe = Callable[[str, str], None]
log = structlog.get_logger()


@dataclass(frozen=True)
class DeliveryPolicy:
    """How messages are delivered; times in seconds.

    A message whose handler shows no life for `ack_wait` is delivered again, `max_deliver` times
    in all. `backoff` is the delay after a first failure, doubled with each.
    """

    ack_wait: float = 30.0
    max_deliver: int = 5
    drain_seconds: float = 20.0
    backoff: float = 1.0


class Handling(Generic[M]):
    """Decodes a message, runs its handler and tells the server the consequence."""

    def __init__(
        self,
        kind: type[M],
        handler: Handler[M],
        *,
        js: JetStreamContext,
        blobs: Blobs,
        dead: DeadLetters,
        policy: DeliveryPolicy,
        observe: Observe,
    ) -> None:
        self._kind = kind
        self._handler = handler
        self._js = js
        self._blobs = blobs
        self._dead = dead
        self._policy = policy
        self._observe = observe

    async def process(self, message: Msg) -> None:
        """See the message through; on cancellation it is given back for immediate redelivery."""
        async with self._kept_alive(message):
            try:
                outcome = await self._handle(message)
            except asyncio.CancelledError:
                if not message.is_acked:
                    await self._give_back(message)
                    self._observe(self._kind.__name__, "returned")
                raise
        self._observe(self._kind.__name__, outcome)

    async def _handle(self, message: Msg) -> str:
        try:
            await self._run(message)
        except UndecodableMessage as error:
            return await self._bury(message, "undecodable", str(error))
        except Rejected as error:
            return await self._bury(message, "rejected", error.reason)
        except RetryLater as error:
            log.info("message_postponed", kind=self._kind.__name__, reason=error.reason)
            await self._give_back(message, error.delay)
            return "postponed"
        except BusUnavailable as error:
            # What the handler publishes found no room or no server: not the message's fault.
            log.warning("message_postponed", kind=self._kind.__name__, reason=str(error))
            await self._give_back(message, self._policy.backoff)
            return "postponed"
        except Exception as error:  # whatever a handler raises must not end the consumer
            log.exception("handler_failed", kind=self._kind.__name__)
            return await self._failed(message, error)
        # Confirmed by the server: an acknowledgement that is lost means doing the work again.
        await message.ack_sync(timeout=CONFIRM_SECONDS)
        await self._blobs.discard(message.headers or {})
        return "handled"

    async def _run(self, message: Msg) -> None:
        headers = message.headers or {}
        expected = self._kind.__name__
        kind = headers.get(KIND, expected)
        if kind != expected:
            raise UndecodableMessage(expected, f"it is a {kind}")
        data = await self._blobs.unpack(expected, message.data, headers)
        task = asyncio.current_task()
        try:
            await self._handler(decode(self._kind, data))
        except asyncio.CancelledError as error:
            # Only our own task being cancelled means leaving; a handler may cancel what it likes.
            if task is not None and task.cancelling():
                raise
            raise HandlerCancelled from error

    async def _failed(self, message: Msg, error: Exception) -> str:
        deliveries = message.metadata.num_delivered
        if deliveries >= self._policy.max_deliver:
            reason = f"failed {deliveries} times, at last with {type(error).__name__}: {error}"
            return await self._bury(message, "exhausted", reason)
        delay = min(self._policy.backoff * 2.0 ** (deliveries - 1), LONGEST_BACKOFF)
        await message.nak(delay=delay)
        return "failed"

    async def _bury(self, message: Msg, outcome: str, reason: str) -> str:
        await self._dead.bury(message, reason)
        await message.term()
        return outcome

    async def _give_back(self, message: Msg, delay: float = 0.0) -> None:
        if message.metadata.num_delivered < self._policy.max_deliver:
            await message.nak(delay=delay)
            return
        # Nothing is wrong with the message, but the server would not deliver it again: a copy
        # starts afresh (without the delay, once in `max_deliver` deliveries).
        at = message.metadata
        headers = {**(message.headers or {}), MESSAGE_ID: f"again:{at.stream}:{at.sequence.stream}"}
        await self._js.publish(message.subject, message.data, headers=headers)
        await message.ack_sync(timeout=CONFIRM_SECONDS)

    @asynccontextmanager
    async def _kept_alive(self, message: Msg) -> AsyncIterator[None]:
        renewal = asyncio.create_task(self._renew(message))
        try:
            yield
        finally:
            renewal.cancel()

    async def _renew(self, message: Msg) -> None:
        while True:
            await asyncio.sleep(self._policy.ack_wait / 3)
            # While disconnected this fails; the message is then delivered again, as it must be.
            with suppress(Error, OSError):
                await message.in_progress()


class HandlerCancelled(Exception):
    """A handler ended itself by cancellation."""

    def __init__(self) -> None:
        super().__init__("the handler was cancelled from within")
