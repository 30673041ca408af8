"""Packing: what several callers ask for at about the same moment goes out together."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_Task: TypeAlias = asyncio.Task[Sequence[Result | Exception]]

PATIENCE_SECONDS = 0.002
QUIET_TURNS = 2


@dataclass(eq=False)
class _Entry(Generic[Item, Result]):
    item: Item
    answer: asyncio.Future[Result]


class Batcher(Generic[Item, Result]):
    """Collects items and runs them in batches.

    A batch leaves as soon as it is full, or the event loop has been quiet for a moment, or two
    milliseconds have passed, and fewer than `in_flight` batches are under way; while all are, items
    gather, so that batches grow with the load. Only items of equal `group` share a batch.

    `run` answers a batch in order; an exception among the answers is raised for its item alone, one
    that `run` raises for all of them. A batch whose callers were all cancelled is cancelled.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Coroutine[Any, Any, Sequence[Result | Exception]]],
        *,
        limit: int,
        in_flight: int = 4,
        group: Callable[[Item], Hashable] = lambda _: None,
    ) -> None:
        self.limit = limit
        self._run = run
        self._in_flight = in_flight
        self._group = group
        self._waiting: OrderedDict[Hashable, deque[_Entry[Item, Result]]] = OrderedDict()
        self._running: set[_Task[Result]] = set()
        self._submitted = 0
        self._settling = False

    async def submit(self, item: Item) -> Result:
        """The answer for one item."""
        loop = asyncio.get_running_loop()
        entry = _Entry[Item, Result](item, loop.create_future())
        queue = self._waiting.setdefault(self._group(item), deque())
        queue.append(entry)
        self._submitted += 1
        if len(queue) >= self.limit:
            self._flush(full_only=True)
        elif not self._settling:
            self._settling = True
            self._settle(loop, loop.time() + PATIENCE_SECONDS, QUIET_TURNS, self._submitted)
        return await entry.answer

    async def close(self) -> None:
        """Cancel all that is waiting or under way."""
        for queue in self._waiting.values():
            for entry in queue:
                entry.answer.cancel()
        self._waiting.clear()
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _settle(
        self, loop: asyncio.AbstractEventLoop, due: float, quiet: int, submitted: int
    ) -> None:
        """Wait turn by turn of the event loop until turns pass in which nothing is submitted."""
        quiet = quiet - 1 if submitted == self._submitted else QUIET_TURNS
        if quiet >= 0 and loop.time() < due:
            loop.call_soon(self._settle, loop, due, quiet, self._submitted)
            return
        self._settling = False
        self._flush()

    def _flush(self, *, full_only: bool = False) -> None:
        while len(self._running) < self._in_flight:
            batch = self._take(full_only)
            if not batch:
                return
            callers = [entry for entry in batch if not entry.answer.cancelled()]
            if callers:
                self._start(callers)

    def _take(self, full_only: bool) -> list[_Entry[Item, Result]]:
        """Up to `limit` entries of one group: of one that fills a batch, else of the first."""
        full = [group for group, queue in self._waiting.items() if len(queue) >= self.limit]
        groups = full or ([] if full_only else list(self._waiting))
        if not groups:
            return []
        queue = self._waiting.pop(groups[0])
        batch = [queue.popleft() for _ in range(min(self.limit, len(queue)))]
        if queue:
            self._waiting[groups[0]] = queue  # at the end: the other groups come first
        return batch

    def _start(self, batch: list[_Entry[Item, Result]]) -> None:
        task = asyncio.create_task(self._run([entry.item for entry in batch]))
        self._running.add(task)
        for entry in batch:
            entry.answer.add_done_callback(partial(_stop_if_unwanted, task, batch))
        task.add_done_callback(partial(self._deliver, batch))

    def _deliver(self, batch: list[_Entry[Item, Result]], task: _Task[Result]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            for entry in batch:
                entry.answer.cancel()
        elif error is not None:
            for entry in batch:
                _give(entry.answer, error)
        else:
            for entry, answer in zip(batch, task.result(), strict=True):
                _give(entry.answer, answer)
        self._flush()


def _give(answer: asyncio.Future[Result], given: Result | BaseException) -> None:
    if answer.done():
        return
    if isinstance(given, BaseException):
        answer.set_exception(given)
    else:
        answer.set_result(given)


def _stop_if_unwanted(
    task: _Task[Result], batch: list[_Entry[Item, Result]], _: asyncio.Future[Result]
) -> None:
    if all(entry.answer.cancelled() for entry in batch):
        task.cancel()
