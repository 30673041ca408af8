"""`NatsBus`: the bus port on NATS JetStream.

Messages are acknowledged only when their handler has returned; handlers are kept alive by renewing
a short acknowledgement wait, because the server redelivers on nothing but its expiry.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Protocol

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js.api import ConsumerConfig
from nats.js.errors import ServiceUnavailableError

from graphwright.bus.nats_blobs import Blobs
from graphwright.bus.nats_connection import close_connection, open_connection, unavailable
from graphwright.bus.nats_dead import KIND, SEARCH, DeadLetters, read_letters
from graphwright.bus.nats_events import EventFeed
from graphwright.bus.nats_handling import DeliveryPolicy, Handling, Observe
from graphwright.bus.nats_publishing import Publisher
from graphwright.bus.nats_pull import Pull
from graphwright.bus.nats_slots import Slots
from graphwright.bus.nats_streams import (
    Layout,
    checked_token,
    durable_config,
    ensure_consumer,
    ensure_stream,
    remove_consumer,
)
from graphwright.bus.nats_sweep import sweep
from graphwright.bus.nats_undertaker import UNDERTAKER, Undertaker
from graphwright.bus.port import Bus, BusUnavailable, DeadLetter, Handler, M
from graphwright.converters.wire import encode
from graphwright.search.messages import RingMessage
from graphwright.search.search import SearchEvent

PAUSE = 0.2

log = structlog.get_logger()


class _Reconnecting(Protocol):
    def reconnected(self) -> None: ...


class NatsBus(Bus):
    """The ring on JetStream; made by `connect`."""

    def __init__(self, layout: Layout, policy: DeliveryPolicy, observe: Observe | None) -> None:
        self._layout = layout
        self._policy = policy
        self._observe: Observe = observe or _unobserved
        self._connection = Client()
        self._js = self._connection.jetstream()
        self._blobs = Blobs(self._js, layout.bucket)
        self._dead = DeadLetters(self._js, layout)
        self._publisher = Publisher(self._connection, self._js, self._blobs, layout)
        self._readers: set[_Reconnecting] = set()
        self._background = AsyncExitStack()

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        namespace: str = "graphwright",
        name: str = "",
        ack_wait: float = 30.0,
        max_deliver: int = 5,
        drain_seconds: float = 20.0,
        backoff: float = 1.0,
        connect_seconds: float = 10.0,
        replicas: int = 1,
        observe: Observe | None = None,
    ) -> "NatsBus":
        """Connect to one of the servers in `url` (separated by commas) and prepare the streams.

        `name` is what the server's monitoring shows; `observe` is told (kind, outcome) of every
        message; times in seconds, explained at `DeliveryPolicy`.

        Raises:
            BusUnavailable: no server with JetStream answers within `connect_seconds`.
            StreamConflict: a stream is in the way, or the server has no room.
        """
        policy = DeliveryPolicy(ack_wait, max_deliver, drain_seconds, backoff)
        bus = cls(Layout(namespace, replicas), policy, observe)
        try:
            with unavailable(f"NATS at {url}"):
                async with asyncio.timeout(connect_seconds):
                    await bus._open(url.split(","), name)
        except BaseException:
            await bus.close()
            raise
        return bus

    async def publish(self, message: RingMessage) -> None:
        """See `Bus.publish`; raises MessageTooLarge over 8 MiB."""
        kind = type(message).__name__
        try:
            with unavailable(kind):
                stored = await self._publisher.publish(message)
        except BusUnavailable:
            self._observe(kind, "unavailable")
            raise
        self._observe(kind, "published" if stored else "duplicate")

    @asynccontextmanager
    async def consume(
        self, kind: type[M], handler: Handler[M], *, concurrency: int, search_id: str | None = None
    ) -> AsyncIterator[None]:
        """See `Bus.consume`; raises BusUnavailable on entering."""
        route = self._layout.route(kind, search_id)
        config = durable_config(
            route, ack_wait=self._policy.ack_wait, max_deliver=self._policy.max_deliver
        )
        handling = Handling(
            kind,
            handler,
            js=self._js,
            blobs=self._blobs,
            dead=self._dead,
            policy=self._policy,
            observe=self._observe,
        )
        slots = self._slots(route.stream, config, handling.process, size=concurrency)
        async with self._taking(slots, route.subject):
            yield

    async def forget(self, search_id: str) -> None:
        """See `Bus.forget`; raises BusUnavailable."""
        with unavailable(f"search {search_id}"):
            for route in self._layout.queues(search_id):
                await sweep(self._js, self._blobs, route, search_id)
            graded = self._layout.queues(search_id)[-1]
            await remove_consumer(self._js, graded.stream, graded.durable)
            events = self._layout.events(search_id)
            await self._js.purge_stream(self._layout.stream("EVENTS"), subject=events)

    async def announce(self, event: SearchEvent) -> None:
        """See `Bus.announce`; never raises for a bus that is away."""
        headers = {KIND: type(event).__name__, SEARCH: event.search_id}
        subject = self._layout.events(event.search_id)
        try:
            await self._connection.publish(subject, encode(event), headers=headers)
        except (Error, OSError) as error:
            log.warning("event_not_announced", search_id=event.search_id, reason=str(error))

    @asynccontextmanager
    async def events(self, search_id: str) -> AsyncIterator[AsyncIterator[SearchEvent]]:
        """See `Bus.events`; raises BusUnavailable on entering."""
        subject = self._layout.events(search_id)
        name = f"watcher-{self._connection.new_inbox().rpartition('.')[2]}"
        stream = self._layout.stream("EVENTS")
        feed = EventFeed(self._connection, self._js, stream, subject, name)
        with unavailable(subject):
            await feed.open()
        with self._reader(feed):
            try:
                yield feed.events()
            finally:
                with suppress(Error, TimeoutError, OSError):
                    await feed.close()

    @asynccontextmanager
    async def dead_letters(self, search_id: str) -> AsyncIterator[AsyncIterator[DeadLetter]]:
        """See `Bus.dead_letters`; raises BusUnavailable on entering."""
        subject = self._layout.dead(checked_token(search_id), ">")
        with unavailable(subject):
            subscription = await self._connection.subscribe(subject)
        try:
            yield read_letters(subscription)
        finally:
            with suppress(Error, TimeoutError, OSError):
                await subscription.unsubscribe()

    @property
    def connected(self) -> bool:
        """See `Bus.connected`."""
        return self._connection.is_connected

    async def close(self) -> None:
        """See `Bus.close`; takes a few seconds at most."""
        await self._background.aclose()
        await close_connection(self._connection)

    async def _open(self, servers: list[str], name: str) -> None:
        await open_connection(self._connection, servers, name, self._reconnected)
        while True:
            try:
                await self._ensure_streams()
                break
            except (ServiceUnavailableError, TimeoutError):
                # JetStream comes up after the server listens.
                await asyncio.sleep(PAUSE)
        exhausted = self._taking(self._undertaker(), "the queue of exhausted messages")
        await self._background.enter_async_context(exhausted)

    async def _ensure_streams(self) -> None:
        for config in self._layout.stream_configs():
            await ensure_stream(self._js, config)

    def _undertaker(self) -> Slots:
        undertaker = Undertaker(self._js, self._dead, self._observe)
        stream = self._layout.stream("EXHAUSTED")
        return self._slots(stream, UNDERTAKER, undertaker.process, size=1)

    def _slots(
        self,
        stream: str,
        consumer: ConsumerConfig,
        process: Callable[[Msg], Awaitable[None]],
        *,
        size: int,
    ) -> Slots:
        async def restore() -> None:
            await self._ensure_streams()
            await ensure_consumer(self._js, stream, consumer)

        return Slots(
            self._connection,
            Pull(self._connection, stream, str(consumer.name)),
            process,
            size=size,
            restore=restore,
            drain_seconds=self._policy.drain_seconds,
        )

    @asynccontextmanager
    async def _taking(self, slots: Slots, what: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            with unavailable(what):
                await stack.enter_async_context(slots.running())
            stack.enter_context(self._reader(slots))
            yield

    @contextmanager
    def _reader(self, reader: _Reconnecting) -> Iterator[None]:
        self._readers.add(reader)
        try:
            yield
        finally:
            self._readers.discard(reader)

    async def _reconnected(self) -> None:
        log.info("bus_reconnected")
        for reader in tuple(self._readers):
            reader.reconnected()


def _unobserved(_kind: str, _outcome: str) -> None:
    """Nobody counts."""
