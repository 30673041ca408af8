"""The bus port: at-least-once delivery of the ring's messages, and a stream of search events.

A handler tells the consequence of a failure by the exception it raises:

BusError
├── RetryLater      deliver again after a delay; nothing is wrong with the message
├── Rejected        never deliver again; the message goes to the dead-letter stream with its reason
└── BusUnavailable  raised to publishers: the bus did not take the message; passed on by a handler,
                    it means deliver again later
Anything else is logged and delivered again until the delivery limit, then dead-lettered.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar

from graphwright.search.messages import RingMessage
from graphwright.search.search import SearchEvent

M = TypeVar("M", bound=RingMessage)
Handler = Callable[[M], Awaitable[None]]


class BusError(Exception):
    """Root of the bus's errors."""


class RetryLater(BusError):
    """Raised by a handler: deliver the message again after `delay` seconds."""

    def __init__(self, reason: str, delay: float = 1.0) -> None:
        super().__init__(f"{reason}; retry in {delay:g} s")
        self.reason = reason
        self.delay = delay


class Rejected(BusError):
    """Raised by a handler: this message can never be processed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BusUnavailable(BusError):
    """The bus cannot be reached or did not confirm a message in time."""


@dataclass(frozen=True)
class DeadLetter:
    """A message of a search that will not be delivered any more, and the reason."""

    batch_id: str
    attempt: int
    reason: str


class Bus(ABC):
    """Delivers each message at least once to one consumer of its kind."""

    @abstractmethod
    async def publish(self, message: RingMessage) -> None:
        """Store a message durably; the same (kind, batch, attempt) twice is stored once.

        Raises:
            BusUnavailable: the message was not confirmed.
        """

    @abstractmethod
    def consume(
        self, kind: type[M], handler: Handler[M], *, concurrency: int, search_id: str | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Hand messages of `kind` to `handler`, at most `concurrency` at a time, while entered.

        `search_id` narrows `BatchGraded` to one search. On leaving, no further message is taken;
        those in hand are finished or given back for immediate redelivery.
        """

    @abstractmethod
    async def forget(self, search_id: str) -> None:
        """Drop what is left on the bus for a search that has ended."""

    @abstractmethod
    async def announce(self, event: SearchEvent) -> None:
        """Publish a search event; events are best effort, the archive holds the truth."""

    @abstractmethod
    def events(self, search_id: str) -> AbstractAsyncContextManager[AsyncIterator[SearchEvent]]:
        """Search events announced from the moment the context is entered."""

    @abstractmethod
    def dead_letters(
        self, search_id: str
    ) -> AbstractAsyncContextManager[AsyncIterator[DeadLetter]]:
        """Dead letters of a search from the moment the context is entered; best effort."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether the bus can be reached."""

    @abstractmethod
    async def close(self) -> None:
        """Flush and disconnect."""
