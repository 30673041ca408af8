"""What the tests of a bus are made of: messages, handlers that remember, and patience."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from graphwright.bus.port import Bus
from graphwright.graphs.graph import Graph
from graphwright.search.calls import Sampling
from graphwright.search.messages import (
    BatchExecuted,
    BatchGraded,
    BatchGraph,
    BatchQuestion,
    ExecuteBatch,
    Execution,
    Grade,
    GradedExecution,
    RingMessage,
)
from graphwright.search.search import SearchEvent, SearchProgress, SearchState


class Connect(Protocol):
    """Opens a connection to the bus under test; each stands for another process."""

    async def __call__(self, **options: Any) -> Bus: ...


class Victim(Protocol):
    """Starts a process that takes one `ExecuteBatch`, and kills it while it works on it."""

    async def __call__(self, *, ack_wait: float, max_deliver: int) -> None: ...


class Broker(Protocol):
    """The server that carries the bus."""

    def kill(self) -> None: ...
    async def restart(self) -> None: ...


@dataclass(frozen=True)
class DeadMessage:
    """A message that was given up, with why and where it came from."""

    reason: str
    subject: str
    deliveries: int
    data: bytes


class Backstage(Protocol):
    """A look behind the port, for what it does not show."""

    async def inject(
        self, kind: type[RingMessage], data: bytes, *, batch_id: str | None = None
    ) -> None: ...
    async def dead_letters(self) -> Sequence[DeadMessage]: ...
    async def queued(self) -> int: ...
    async def blobs(self) -> int: ...


@dataclass
class Inbox:
    """A handler that remembers what it was handed and then does what it is told to."""

    then: Callable[[int], Awaitable[None]] | None = None
    messages: list[RingMessage] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    async def __call__(self, message: RingMessage) -> None:
        self.messages.append(message)
        self.times.append(monotonic())
        if self.then is not None:
            await self.then(len(self.messages))

    async def holds(self, count: int, seconds: float = 8.0) -> None:
        await eventually(lambda: len(self.messages) >= count, seconds)
        assert len(self.messages) == count

    @property
    def batch_ids(self) -> list[str]:
        return [message.batch_id for message in self.messages]


async def eventually(condition: Callable[[], bool], seconds: float = 8.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def eventually_equal(
    measure: Callable[[], Awaitable[object]], expected: object, seconds: float = 8.0
) -> None:
    found: object = None
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        found = await measure()
        if found == expected:
            return
        await asyncio.sleep(0.02)
    assert found == expected


def an_execute_batch(
    batch_id: str = "b1", *, search_id: str = "s1", text: str = "?"
) -> ExecuteBatch:
    return ExecuteBatch(
        search_id=search_id,
        batch_id=batch_id,
        task="sums",
        task_hash="abc",
        pool="pocket",
        epoch="train",
        seed=7,
        sampling=Sampling(max_tokens=16),
        graphs=(BatchGraph(trial_id="t1", graph=Graph.single("small")),),
        questions=(BatchQuestion(id="q1", text=text),),
    )


RUN = Execution(trial_id="t1", question_id="q1", answer="42")


def a_batch_executed(batch_id: str = "b1") -> BatchExecuted:
    return BatchExecuted(
        search_id="s1", batch_id=batch_id, task="sums", task_hash="abc", executions=(RUN,)
    )


def a_batch_graded(search_id: str, batch_id: str = "b1", *, reason: str = "") -> BatchGraded:
    graded = GradedExecution(execution=RUN, grade=Grade(score=1, reason=reason))
    return BatchGraded(search_id=search_id, batch_id=batch_id, executions=(graded,))


def an_event(sequence: int, search_id: str = "s1") -> SearchEvent:
    progress = SearchProgress(step="search", iteration=sequence)
    return SearchEvent(
        search_id=search_id, sequence=sequence, state=SearchState.RUNNING, progress=progress
    )
