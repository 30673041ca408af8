"""Handling `ExecuteBatch`: check it, run it, publish `BatchExecuted`."""

from collections.abc import Callable

import structlog

from graphwright.bus.port import Bus, Rejected, RetryLater
from graphwright.executor.accounts import executions
from graphwright.executor.caller import Caller
from graphwright.executor.plan import merge
from graphwright.executor.scheduler import run_questions
from graphwright.inference.port import ContractMismatch, ModelUnavailable
from graphwright.pools.pool import ModelPool, UnknownPool
from graphwright.search.messages import BatchExecuted, ExecuteBatch
from graphwright.tasks.catalog import UnknownTask
from graphwright.tasks.taskset import TaskSet
from graphwright.telemetry import metrics

RETRY_SECONDS = 2.0

log = structlog.get_logger()


class ExecuteBatchHandler:
    """Runs batches; stateless but for open connections, so any executor can take any batch."""

    def __init__(
        self,
        bus: Bus,
        load_task: Callable[[str], TaskSet],
        load_pool: Callable[[str], ModelPool],
        caller_for: Callable[[ModelPool], Caller],
    ) -> None:
        self._bus = bus
        self._load_task = load_task
        self._load_pool = load_pool
        self._caller_for = caller_for

    async def __call__(self, batch: ExecuteBatch) -> None:
        """Run a batch and publish what came of it.

        Raises:
            Rejected: the batch names what this executor does not have.
            RetryLater: a model cannot be reached.
        """
        with structlog.contextvars.bound_contextvars(
            search_id=batch.search_id, batch_id=batch.batch_id
        ):
            task, pool = self._check(batch)
            try:
                executed = await self._run(batch, task, pool)
            except (ModelUnavailable, ContractMismatch) as error:
                metrics.BATCHES.labels("retried").inc()
                raise RetryLater(str(error), RETRY_SECONDS) from error
            await self._bus.publish(executed)
            metrics.BATCHES.labels("executed").inc()
            log.info(
                "batch_executed",
                trial_ids=[entry.trial_id for entry in batch.graphs],
                questions=len(batch.questions),
            )

    def _check(self, batch: ExecuteBatch) -> tuple[TaskSet, ModelPool]:
        try:
            task, pool = self._load_task(batch.task), self._load_pool(batch.pool)
        except (UnknownTask, UnknownPool) as error:
            raise Rejected(str(error)) from error
        if task.content_hash != batch.task_hash:
            raise Rejected(f"task {batch.task!r} differs here from the planner's: content hash")
        known = {card.name for card in pool.models}
        unknown = {n.model for entry in batch.graphs for n in entry.graph.nodes} - known
        if unknown:
            raise Rejected(f"pool {batch.pool!r} has no model {sorted(unknown)[0]!r}")
        return task, pool

    async def _run(self, batch: ExecuteBatch, task: TaskSet, pool: ModelPool) -> BatchExecuted:
        fingerprints = task.prompts.fingerprints()
        plan = merge(batch.graphs, fingerprints, share_draws=batch.share_draws)
        caller = self._caller_for(pool)
        results = await run_questions(plan, batch, task.prompts, caller)
        runs = [
            run
            for question, by_signature in zip(batch.questions, results, strict=True)
            for run in executions(plan, question.id, by_signature, pool)
        ]
        for run in runs:
            metrics.GRAPH_LATENCY_SECONDS.observe(run.latency_seconds)
        return BatchExecuted(
            search_id=batch.search_id,
            batch_id=batch.batch_id,
            attempt=batch.attempt,
            task=batch.task,
            task_hash=batch.task_hash,
            executions=tuple(runs),
        )
