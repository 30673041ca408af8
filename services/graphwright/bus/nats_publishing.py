"""Publishing ring messages: confirmed by the server, stored once however often it is tried."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

import structlog
from nats.aio.client import Client
from nats.errors import OutboundBufferLimitError
from nats.js import JetStreamContext
from nats.js.errors import NoStreamResponseError

from graphwright.bus.nats_blobs import Blobs
from graphwright.bus.nats_dead import ATTEMPT, BATCH, KIND, MESSAGE_ID, SEARCH
from graphwright.bus.nats_streams import Layout
from graphwright.converters.wire import encode
from graphwright.search.messages import RingMessage

PUBLISH_SECONDS = 15.0
ATTEMPT_SECONDS = 3.0
PAUSE = 0.2

T = TypeVar("T")
log = structlog.get_logger()


class Publisher:
    """Stores messages on their work queues."""

    def __init__(
        self, connection: Client, js: JetStreamContext, blobs: Blobs, layout: Layout
    ) -> None:
        self._connection = connection
        self._js = js
        self._blobs = blobs
        self._layout = layout

    async def publish(self, message: RingMessage) -> bool:
        """Store a message; returns whether it is not there already.

        A server that restarts is waited for. Raises TimeoutError or a NATS error when the message
        was not confirmed, MessageTooLarge over 8 MiB.
        """
        kind = type(message).__name__
        headers = {
            KIND: kind,
            SEARCH: message.search_id,
            BATCH: message.batch_id,
            ATTEMPT: str(message.attempt),
            # Batch ids are unique within their search only.
            MESSAGE_ID: f"{kind}:{message.search_id}:{message.batch_id}:{message.attempt}",
        }
        subject = self._layout.route(type(message), message.search_id).subject
        # What two publishers put aside for one message must not share a name: the loser deletes it.
        blob = f"{kind}-{self._connection.new_inbox().rpartition('.')[2]}"
        data = encode(message)
        async with asyncio.timeout(PUBLISH_SECONDS):
            packed = await _repeated(lambda: self._blobs.pack(kind, blob, data))
            return await self._store(subject, *packed, headers)

    async def _store(
        self, subject: str, payload: bytes, reference: dict[str, str], headers: dict[str, str]
    ) -> bool:
        attempts = count()

        async def attempt() -> bool:
            first = next(attempts) == 0
            stored = await self._js.publish(
                subject, payload, timeout=ATTEMPT_SECONDS, headers={**headers, **reference}
            )
            if stored.duplicate and first:
                # The stored message refers to what another publisher put aside.
                await self._blobs.discard(reference)
            return not stored.duplicate

        return await _repeated(attempt)


async def _repeated(attempt: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await attempt()
        except (TimeoutError, NoStreamResponseError, OutboundBufferLimitError) as error:
            log.warning("publishing_repeated", reason=str(error))
            await asyncio.sleep(PAUSE)
