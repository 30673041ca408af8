"""Slots: each takes a message, processes it to the end and takes the next, on its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, Error

from graphwright.bus.nats_pull import Pull, PullLost

FLUSH_SECONDS = 2
ABANDON_SECONDS = 5.0
LONGEST_PAUSE = 5.0

log = structlog.get_logger()


class Slots:
    """Runs `process` on the messages of a pull consumer, at most `size` at a time.

    `restore` makes sure that the consumer exists; it is called before the first message and
    whenever the consumer does not answer. While the connection is down nothing is asked for.
    """

    def __init__(
        self,
        connection: Client,
        pull: Pull,
        process: Callable[[Msg], Awaitable[None]],
        *,
        size: int,
        restore: Callable[[], Awaitable[None]],
        drain_seconds: float,
    ) -> None:
        self._connection = connection
        self._pull = pull
        self._process = process
        self._size = size
        self._restore = restore
        self._drain_seconds = drain_seconds
        self._restoring = asyncio.Lock()
        self._leaving = asyncio.Event()
        self._faults = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take messages while entered.

        On leaving, none is taken any more; those in hand have `drain_seconds` to finish, then
        their processing is cancelled.
        """
        await self._restore()
        await self._pull.open()
        tasks = [asyncio.create_task(self._slot()) for _ in range(self._size)]
        try:
            yield
        finally:
            await self._leave(tasks)

    def reconnected(self) -> None:
        """Ask again: the server forgot what it was asked before the connection broke."""
        self._pull.interrupt()

    async def _slot(self) -> None:
        while not self._leaving.is_set():
            try:
                await self._take_one()
            except ConnectionClosedError:
                return
            except Exception as error:  # a slot that dies would silently narrow the consumer
                await self._recover(error)

    async def _take_one(self) -> None:
        if not self._connection.is_connected and not self._connection.is_closed:
            await self._pause(0.1)
            return
        message = await self._pull.next()
        self._faults = 0
        if message is not None:
            await self._process(message)

    async def _recover(self, error: Exception) -> None:
        self._faults += 1
        unexpected = not isinstance(error, PullLost | Error | TimeoutError | OSError)
        log.warning("bus_consumer_interrupted", reason=str(error), exc_info=unexpected)
        await self._pause(min(0.1 * 2 ** min(self._faults, 8), LONGEST_PAUSE))
        async with self._restoring:
            # One slot repairs for all; the others find the count reset and ask again.
            if self._faults and self._connection.is_connected and not self._leaving.is_set():
                await self._try_to_restore()

    async def _try_to_restore(self) -> None:
        try:
            await self._restore()
        except Exception as error:  # as above: the slot must live to try again
            log.warning("bus_consumer_not_restored", reason=str(error))
        else:
            self._faults = 0

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._leaving.wait()

    async def _leave(self, tasks: list[asyncio.Task[None]]) -> None:
        self._leaving.set()
        try:
            await self._pull.close()
            await asyncio.wait(tasks, timeout=self._drain_seconds)
        finally:
            for task in tasks:
                task.cancel()
            _, stubborn = await asyncio.wait(tasks, timeout=ABANDON_SECONDS)
            if stubborn:
                log.error("bus_handlers_ignore_cancellation", count=len(stubborn))
        with suppress(Error, TimeoutError, OSError):
            await self._connection.flush(timeout=FLUSH_SECONDS)
