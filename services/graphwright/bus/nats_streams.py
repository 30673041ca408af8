"""Streams, consumers and subjects on NATS, all under one namespace.

Work queues hold a message until it is acknowledged; they refuse what does not fit, so that a
publisher learns of it. Events and dead letters are kept within limits of age and size.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import BadRequestError, NotFoundError, ServerError

from graphwright.bus.port import BusError, M
from graphwright.search.messages import BatchExecuted, BatchGraded, ExecuteBatch

MIB = 1024 * 1024
HOUR = 3600.0
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")
_NAMESPACE = re.compile(r"[a-z0-9_-]+")
_WORK = ("EXECUTE", "EXECUTED", "GRADED")
# The server's code for a name that is taken by something configured differently.
_STREAM_EXISTS = 10058


class StreamConflict(BusError):
    """The server refuses a stream or consumer: another is in its way, or there is no room."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} on NATS cannot be configured as needed: {reason}")
        self.name = name
        self.reason = reason


class UnusableName(ValueError):
    """A name that cannot be part of a subject."""

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"the {what} {name!r} may hold only letters, digits, '_' and '-'")
        self.what = what
        self.name = name


@dataclass(frozen=True)
class Route:
    """Where messages of one kind go, and the durable consumer that takes them."""

    stream: str
    subject: str
    durable: str


@dataclass(frozen=True)
class Layout:
    """All names under a namespace.

    Raises:
        UnusableName: the namespace holds more than a-z, 0-9, '_' and '-'.
    """

    namespace: str = "graphwright"
    replicas: int = 1

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.namespace):
            raise UnusableName("namespace", self.namespace)

    def stream(self, name: str) -> str:
        """A stream's full name."""
        return f"{self.namespace.upper()}_{name}"

    def subject(self, rest: str) -> str:
        """A full subject."""
        return f"{self.namespace}.v1.{rest}"

    def dead(self, search_id: str | None, rest: str) -> str:
        """The subject of dead letters that were on `rest`; a search that has none is `unknown`."""
        known = search_id is not None and _TOKEN.fullmatch(search_id)
        return self.subject(f"dead.{search_id if known else 'unknown'}.{rest}")

    @property
    def bucket(self) -> str:
        """The object store for large messages."""
        return f"{self.namespace}-messages"

    def route(self, kind: type[M], search_id: str | None) -> Route:
        """The route of a message.

        Raises:
            UnusableName: the search id cannot be part of a subject.
            ValueError: a graded batch without a search.
        """
        if kind is ExecuteBatch:
            return Route(self.stream("EXECUTE"), self.subject("execute"), "executor")
        if kind is BatchExecuted:
            return Route(self.stream("EXECUTED"), self.subject("executed"), "evaluator")
        if search_id is None:
            raise ValueError("BatchGraded is consumed for one search: give its id")
        token = checked_token(search_id)
        return Route(self.stream("GRADED"), self.subject(f"graded.{token}"), f"planner-{token}")

    def queues(self, search_id: str) -> tuple[Route, ...]:
        """The routes on which messages of a search may lie."""
        return (
            self.route(ExecuteBatch, search_id),
            self.route(BatchExecuted, search_id),
            self.route(BatchGraded, search_id),
        )

    def events(self, search_id: str) -> str:
        """The subject of a search's events. Raises UnusableName."""
        return self.subject(f"events.{checked_token(search_id)}")

    def stream_configs(self) -> Sequence[StreamConfig]:
        """Every stream there is; the server reserves their sizes, 744 MiB in all."""
        return (
            self._queue("EXECUTE", [self.subject("execute")], size=128 * MIB),
            self._queue("EXECUTED", [self.subject("executed")], size=128 * MIB),
            self._queue("GRADED", [self.subject("graded.*")], size=128 * MIB),
            self._queue("EXHAUSTED", [self._exhausted(name) for name in _WORK], size=8 * MIB),
            self._limits("EVENTS", [self.subject("events.*")], age=HOUR / 6, size=32 * MIB),
            self._limits("DEAD_LETTERS", [self.subject("dead.>")], age=168 * HOUR, size=64 * MIB),
            self._blobs(),
        )

    def _exhausted(self, name: str) -> str:
        # The server says so when a message ran out of deliveries; unheard, it would be lost.
        return f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{self.stream(name)}.*"

    def _queue(self, name: str, subjects: list[str], *, size: int) -> StreamConfig:
        return StreamConfig(
            name=self.stream(name),
            subjects=subjects,
            retention=RetentionPolicy.WORK_QUEUE,
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            max_bytes=size,
            max_age=24 * HOUR,
            duplicate_window=120,
            num_replicas=self.replicas,
        )

    def _limits(self, name: str, subjects: list[str], *, age: float, size: int) -> StreamConfig:
        return StreamConfig(
            name=self.stream(name),
            subjects=subjects,
            retention=RetentionPolicy.LIMITS,
            storage=StorageType.FILE,
            discard=DiscardPolicy.OLD,
            max_bytes=size,
            max_age=age,
            duplicate_window=120,
            num_replicas=self.replicas,
        )

    def _blobs(self) -> StreamConfig:
        # An object store is a stream with these subjects. It keeps a payload longer than a queue
        # keeps the message; what a crash left without a message goes the same way.
        return StreamConfig(
            name=f"OBJ_{self.bucket}",
            subjects=[f"$O.{self.bucket}.C.>", f"$O.{self.bucket}.M.>"],
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            max_bytes=256 * MIB,
            max_age=48 * HOUR,
            duplicate_window=120,
            allow_rollup_hdrs=True,
            allow_direct=True,
            num_replicas=self.replicas,
        )


def checked_token(search_id: str) -> str:
    """A search id that can be part of a subject. Raises UnusableName."""
    if not _TOKEN.fullmatch(search_id):
        raise UnusableName("search id", search_id)
    return search_id


def durable_config(route: Route, *, ack_wait: float, max_deliver: int) -> ConsumerConfig:
    """The shared pull consumer of a route; a search's own expires a day after its last planner."""
    return ConsumerConfig(
        name=route.durable,
        durable_name=route.durable,
        filter_subject=route.subject,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ack_wait,
        max_deliver=max_deliver,
        max_ack_pending=1024,
        max_waiting=2048,
        inactive_threshold=24 * HOUR if route.durable.startswith("planner-") else None,
    )


async def ensure_stream(js: JetStreamContext, config: StreamConfig) -> None:
    """Create a stream, or change the one of that name into it.

    Raises:
        StreamConflict: the server refuses.
    """
    name = str(config.name)
    try:
        await js.add_stream(config)
    except (BadRequestError, ServerError) as error:
        if error.err_code != _STREAM_EXISTS:
            raise StreamConflict(name, str(error.description)) from error
        await _checked(name, lambda: js.update_stream(config))


async def ensure_consumer(js: JetStreamContext, stream: str, config: ConsumerConfig) -> None:
    """Create a consumer, or change the one of that name into it.

    Raises:
        StreamConflict: the server refuses.
    """
    await _checked(f"{stream}/{config.name}", lambda: js.add_consumer(stream, config))


async def remove_consumer(js: JetStreamContext, stream: str, name: str) -> None:
    """Delete a consumer if there is one."""
    try:
        await js.delete_consumer(stream, name)
    except NotFoundError:
        return


async def _checked(name: str, request: Callable[[], Awaitable[object]]) -> None:
    try:
        await request()
    except (BadRequestError, ServerError) as error:
        raise StreamConflict(name, str(error.description)) from error
