"""Search events: read in order from where one enters, through broken connections too."""

import asyncio
from collections.abc import AsyncIterator

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from graphwright.bus.nats_pull import Pull, PullLost
from graphwright.bus.nats_streams import remove_consumer
from graphwright.converters.wire import UndecodableMessage, decode
from graphwright.search.search import SearchEvent

INACTIVE_SECONDS = 60.0
PAUSE = 0.2

log = structlog.get_logger()


class EventFeed:
    """The events on one subject from the moment it is opened.

    An ephemeral consumer remembers nothing for us: after a loss the next one starts behind the
    last event read.
    """

    def __init__(
        self, connection: Client, js: JetStreamContext, stream: str, subject: str, name: str
    ) -> None:
        self._connection = connection
        self._js = js
        self._stream = stream
        self._subject = subject
        self._name = name
        self._pull = Pull(connection, stream, name)
        self._read = 0
        self._delivered = 0

    async def open(self) -> None:
        """Start behind the youngest event there is."""
        info = await self._js.stream_info(self._stream)
        self._read = info.state.last_seq
        await self._create()
        await self._pull.open()

    async def close(self) -> None:
        """Remove the consumer."""
        await self._pull.close()
        await remove_consumer(self._js, self._stream, self._name)

    def reconnected(self) -> None:
        """Ask again: the server forgot what it was asked before the connection broke."""
        self._pull.interrupt()

    async def events(self) -> AsyncIterator[SearchEvent]:
        """Every event, until the connection is closed."""
        while not self._connection.is_closed:
            if not self._connection.is_connected:
                await asyncio.sleep(PAUSE)
                continue
            try:
                message = await self._pull.next()
            except PullLost:
                await self._recreate()
                continue
            if message is None or not await self._in_order(message):
                continue
            try:
                yield decode(SearchEvent, message.data)
            except UndecodableMessage as error:
                log.warning("event_skipped", reason=str(error))

    async def _in_order(self, message: Msg) -> bool:
        at = message.metadata.sequence
        self._delivered += 1
        if at.consumer != self._delivered:
            # An event went to a request that was no longer awaited: read on from the last one.
            await self._recreate()
            return False
        self._read = at.stream
        return True

    async def _recreate(self) -> None:
        await asyncio.sleep(PAUSE)
        try:
            info = await self._js.stream_info(self._stream)
            # A stream that was lost and made again counts from one.
            self._read = min(self._read, info.state.last_seq)
            await remove_consumer(self._js, self._stream, self._name)
            await self._create()
        except (Error, TimeoutError, OSError) as error:
            log.warning("event_feed_interrupted", reason=str(error))

    async def _create(self) -> None:
        self._delivered = 0
        config = ConsumerConfig(
            name=self._name,
            filter_subject=self._subject,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._read + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=INACTIVE_SECONDS,
            mem_storage=True,
            num_replicas=1,
        )
        await self._js.add_consumer(self._stream, config)
