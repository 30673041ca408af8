"""Handling `BatchExecuted`: grade every answer, publish `BatchGraded`."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from graphwright.bus.port import Bus, Rejected
from graphwright.evaluator.graders.port import Grader
from graphwright.search.messages import (
    BatchExecuted,
    BatchGraded,
    Execution,
    Grade,
    GradedExecution,
)
from graphwright.tasks.catalog import UnknownTask
from graphwright.tasks.taskset import TaskSet
from graphwright.telemetry import metrics

log = structlog.get_logger()


class BatchExecutedHandler:
    """Grades batches with the reference answers of the evaluator's own copy of the task set."""

    def __init__(
        self, bus: Bus, load_task: Callable[[str], TaskSet], graders: Mapping[str, Grader]
    ) -> None:
        self._bus = bus
        self._load_task = load_task
        self._graders = graders

    async def __call__(self, batch: BatchExecuted) -> None:
        """Grade a batch.

        Raises:
            Rejected: the batch belongs to a task that is unknown here or differs here.
        """
        with structlog.contextvars.bound_contextvars(
            search_id=batch.search_id, batch_id=batch.batch_id
        ):
            task = self._check(batch)
            # In a thread: grading is pure computation and must not hold up message renewal.
            graded = await asyncio.to_thread(self._grade, batch, task)
            await self._bus.publish(graded)
            trial_ids = sorted({run.trial_id for run in batch.executions})
            log.info("batch_graded", trial_ids=trial_ids, answers=len(batch.executions))

    def _check(self, batch: BatchExecuted) -> TaskSet:
        try:
            task = self._load_task(batch.task)
        except UnknownTask as error:
            raise Rejected(str(error)) from error
        if task.content_hash != batch.task_hash:
            raise Rejected(f"task {batch.task!r} differs here from the planner's: content hash")
        if task.grader not in self._graders:
            raise Rejected(f"task {batch.task!r} names an unknown grader {task.grader!r}")
        unknown = {run.question_id for run in batch.executions} - task.references.keys()
        if unknown:
            raise Rejected(f"task {batch.task!r} has no question {sorted(unknown)[0]!r}")
        return task

    def _grade(self, batch: BatchExecuted, task: TaskSet) -> BatchGraded:
        return BatchGraded(
            search_id=batch.search_id,
            batch_id=batch.batch_id,
            attempt=batch.attempt,
            executions=tuple(
                GradedExecution(execution=run, grade=self._grade_one(run, task))
                for run in batch.executions
            ),
        )

    def _grade_one(self, run: Execution, task: TaskSet) -> Grade:
        with metrics.GRADING_SECONDS.labels(task.grader).time():
            grade = self._graders[task.grader](run.answer, task.references[run.question_id])
        outcome = {0.0: "wrong", 1.0: "right"}.get(grade.score, "partial")
        metrics.GRADES.labels(task.grader, outcome).inc()
        return grade
