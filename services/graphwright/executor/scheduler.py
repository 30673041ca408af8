"""Running a merged plan on one question: a call starts when its own predecessors are done."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from graphwright.executor.caller import Caller, CallResult
from graphwright.executor.plan import Plan, PlannedCall
from graphwright.search.calls import call_seed
from graphwright.search.messages import BatchQuestion, ExecuteBatch
from graphwright.tasks.taskset import Prompts


async def run_questions(
    plan: Plan, batch: ExecuteBatch, prompts: Prompts, caller: Caller
) -> Sequence[Mapping[str, CallResult]]:
    """The results of all questions of a batch, in their order; raises as `run_question` does."""
    with unwrapped():
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(run_question(plan, question, batch, prompts, caller))
                for question in batch.questions
            ]
    return [task.result() for task in tasks]


async def run_question(
    plan: Plan, question: BatchQuestion, batch: ExecuteBatch, prompts: Prompts, caller: Caller
) -> Mapping[str, CallResult]:
    """The result of every distinct call of the plan, by signature.

    Raises:
        ModelUnavailable: a server could not be reached; the other calls are cancelled.
    """
    tasks: dict[str, asyncio.Task[CallResult]] = {}

    async def run(call: PlannedCall) -> CallResult:
        answers = [(await tasks[name]).completion.text for name in call.predecessors]
        prompt = prompts.render(call.role, question.text, answers)
        seed = call_seed(batch.seed, batch.epoch, question.id, call.signature)
        return await caller.call(call.model, prompt, batch.sampling, seed)

    with unwrapped():
        async with asyncio.TaskGroup() as group:
            # Predecessors come first in a plan, so their tasks exist when they are asked for.
            for name, call in plan.calls.items():
                tasks[name] = group.create_task(run(call))
    return {name: task.result() for name, task in tasks.items()}


@contextmanager
def unwrapped() -> Iterator[None]:
    """Let the first failure of a task group out by itself; the group has cancelled the rest."""
    try:
        yield
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
