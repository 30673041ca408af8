"""The environment of the papers as the planner sees it: graphs go out, graded runs come back.

Batches travel planner → executor → evaluator → planner over the bus. Each graded batch is archived
before it is acknowledged, so a planner that takes a search over sends only what is still missing.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import structlog

from graphwright.archive.port import Archive, ArchiveUnavailable, Lease
from graphwright.bus.port import Bus, DeadLetter, RetryLater
from graphwright.graphs.graph import Graph
from graphwright.planner.admission import Admitted
from graphwright.search.calls import Sampling
from graphwright.search.messages import (
    BatchGraded,
    BatchGraph,
    BatchQuestion,
    ExecuteBatch,
    GradedExecution,
)
from graphwright.tasks.taskset import Question

ATTEMPTS = 3
"""How often a batch is sent before the evaluation is given up."""

LOOK_SECONDS = 30.0
"""How often the archive is looked at for an answer that has not come."""

GradedRuns = Mapping[str, Sequence[GradedExecution]]
"""Graded runs by trial id, in the order of the questions."""

log = structlog.get_logger()


class NoAnswer(Exception):
    """A batch came back from nobody, however often it was sent."""

    def __init__(self, batch_id: str, reason: str) -> None:
        super().__init__(f"batch {batch_id} was sent {ATTEMPTS} times in vain: {reason}")
        self.batch_id = batch_id
        self.reason = reason


class _Dead(Exception):
    """A dead letter: this attempt will not be answered."""


class Environment:
    """Evaluates graphs for one search while it is held under one lease."""

    def __init__(
        self,
        bus: Bus,
        archive: Archive,
        admitted: Admitted,
        lease: Lease,
        *,
        questions_per_batch: int,
        batch_seconds: float,
    ) -> None:
        self._bus = bus
        self._archive = archive
        self._admitted = admitted
        self._lease = lease
        self._questions_per_batch = questions_per_batch
        self._batch_seconds = batch_seconds
        self._awaited: dict[str, tuple[int, asyncio.Future[BatchGraded]]] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Receive graded batches, and news of dead ones, while entered."""
        search_id = self._lease.search_id
        async with (
            self._bus.dead_letters(search_id) as letters,
            self._bus.consume(BatchGraded, self._receive, concurrency=8, search_id=search_id),
        ):
            mourning = asyncio.create_task(self._mourn(letters))
            try:
                yield
            finally:
                mourning.cancel()

    async def evaluate(
        self, label: str, graphs: Mapping[str, Graph], questions: Sequence[Question], epoch: str
    ) -> GradedRuns:
        """Run and grade every graph (by trial id) on every question.

        `label` names the evaluation within the search: the same label means the same batches.

        Raises:
            NoAnswer: executors or evaluators did not answer in time.
        """
        commands = self._commands(label, graphs, questions, epoch)
        earlier = await self._archive.graded_batches(self._lease.search_id)
        graded = {batch.batch_id: batch for batch in earlier}
        async with asyncio.TaskGroup() as group:
            missing = [
                group.create_task(self._obtain(command))
                for command in commands
                if command.batch_id not in graded
            ]
        graded |= {batch.batch_id: batch for batch in (task.result() for task in missing)}
        return _by_trial(graded[command.batch_id] for command in commands)

    def _commands(
        self, label: str, graphs: Mapping[str, Graph], questions: Sequence[Question], epoch: str
    ) -> list[ExecuteBatch]:
        spec, task = self._admitted.spec, self._admitted.task
        size = self._questions_per_batch
        return [
            ExecuteBatch(
                search_id=self._lease.search_id,
                # The range is part of the identity: planners may be set to batches of other sizes.
                batch_id=f"{self._lease.search_id}.{label}.{start}-{start + size}",
                task=task.name,
                task_hash=task.content_hash,
                pool=spec.pool,
                epoch=epoch,
                seed=spec.seed,
                share_draws=spec.share_draws,
                sampling=Sampling(
                    temperature=spec.temperature,
                    top_p=spec.top_p,
                    max_tokens=task.max_tokens,
                    stop=task.stop,
                ),
                graphs=tuple(BatchGraph(trial_id=i, graph=graph) for i, graph in graphs.items()),
                questions=tuple(
                    BatchQuestion(id=question.id, text=question.text)
                    for question in questions[start : start + size]
                ),
            )
            for start in range(0, len(questions), size)
        ]

    async def _obtain(self, command: ExecuteBatch) -> BatchGraded:
        # A later lease sends with higher numbers, so that the bus does not take its batches for
        # duplicates of those of its predecessor.
        first = self._lease.generation * ATTEMPTS
        reason = ""
        try:
            for attempt in range(first, first + ATTEMPTS):
                try:
                    return await self._send(command.model_copy(update={"attempt": attempt}))
                except TimeoutError:
                    reason = f"no answer within {self._batch_seconds:g} s"
                except _Dead as letter:
                    reason = str(letter)
                log.warning("batch_unanswered", batch_id=command.batch_id, reason=reason)
            raise NoAnswer(command.batch_id, reason)
        finally:
            self._awaited.pop(command.batch_id, None)

    async def _send(self, command: ExecuteBatch) -> BatchGraded:
        answer: asyncio.Future[BatchGraded] = asyncio.get_running_loop().create_future()
        self._awaited[command.batch_id] = (command.attempt, answer)
        await self._bus.publish(command)
        async with asyncio.timeout(self._batch_seconds):
            while not (await asyncio.wait([answer], timeout=LOOK_SECONDS))[0]:
                # A planner that is about to lose the lease may have received the answer for us.
                for batch in await self._archive.graded_batches(self._lease.search_id):
                    if batch.batch_id == command.batch_id:
                        return batch
        return answer.result()

    async def _receive(self, batch: BatchGraded) -> None:
        try:
            await self._archive.save_graded(batch)
        except ArchiveUnavailable as error:
            raise RetryLater(str(error)) from error
        # Whichever attempt it answers: all of them have the same answer.
        _, answer = self._awaited.get(batch.batch_id, (0, None))
        if answer is not None and not answer.done():
            answer.set_result(batch)

    async def _mourn(self, letters: AsyncIterator[DeadLetter]) -> None:
        async for letter in letters:
            attempt, answer = self._awaited.get(letter.batch_id, (0, None))
            if answer is not None and attempt == letter.attempt and not answer.done():
                answer.set_exception(_Dead(letter.reason))


def _by_trial(batches: Iterable[BatchGraded]) -> GradedRuns:
    runs: dict[str, list[GradedExecution]] = defaultdict(list)
    for batch in batches:
        for graded in batch.executions:
            runs[graded.execution.trial_id].append(graded)
    return runs
