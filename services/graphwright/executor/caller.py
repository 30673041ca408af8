"""Making one call: the shared cache, calls under way, concurrency limits, retries.

A call that cannot succeed has an empty output and says why, which flags its run. A server that
cannot be reached is not the graph's fault: the error passes through, and the batch is tried again.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from graphwright.archive.port import CallCache
from graphwright.inference.batcher import Batcher
from graphwright.inference.port import (
    DeadlineExceeded,
    LanguageModel,
    ModelUnavailable,
    RequestRejected,
)
from graphwright.pools.pool import ModelPool
from graphwright.search.calls import Completion, Sampling, call_key
from graphwright.telemetry import metrics

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.2


@dataclass(frozen=True)
class CallResult:
    """A completion, whether this very call went to the model, and why it failed if it did."""

    completion: Completion
    executed: bool
    failure: str = ""


class SharedTask:
    """A task with several waiters; it is cancelled when the last of them is."""

    def __init__(self, task: asyncio.Task[CallResult]) -> None:
        self._task = task
        self._waiters = 0

    async def result(self) -> CallResult:
        """What the task returns or raises."""
        self._waiters += 1
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._waiters == 1:
                self._task.cancel()
            raise
        finally:
            self._waiters -= 1


class Caller:
    """Calls the models of one pool.

    Equal calls are made once: those under way are awaited, finished ones come from the cache.
    """

    def __init__(
        self,
        pool: ModelPool,
        models: Mapping[str, LanguageModel],
        cache: CallCache,
        *,
        timeout: float,
    ) -> None:
        self._models = models
        self._limits = {c.name: asyncio.Semaphore(c.max_concurrency) for c in pool.models}
        self._identities = {c.name: f"{c.name}@{c.revision}" for c in pool.models}
        self._cache = cache
        self._timeout = timeout
        self._under_way: dict[str, SharedTask] = {}
        self._lookups = Batcher(self._find, limit=512)
        self._writes = Batcher(self._store, limit=512)

    async def call(self, model: str, prompt: str, sampling: Sampling, seed: int) -> CallResult:
        """Complete a prompt.

        Raises:
            ModelUnavailable: the model's server could not be reached in several attempts.
        """
        key = call_key(self._identities[model], prompt, sampling, seed)
        shared = self._under_way.get(key)
        if shared is not None:
            metrics.LLM_CALLS.labels(model, "shared").inc()
            return replace(await shared.result(), executed=False)
        task = asyncio.create_task(self._call(key, model, prompt, sampling, seed))
        task.add_done_callback(lambda _: self._under_way.pop(key, None))
        self._under_way[key] = SharedTask(task)
        return await self._under_way[key].result()

    async def close(self) -> None:
        """Close the models."""
        await self._lookups.close()
        await self._writes.close()
        for model in self._models.values():
            await model.close()

    async def _call(
        self, key: str, model: str, prompt: str, sampling: Sampling, seed: int
    ) -> CallResult:
        known = await self._lookups.submit(key)
        if known is not None:
            metrics.LLM_CALLS.labels(model, "cached").inc()
            return CallResult(known, executed=False)
        started = perf_counter()
        try:
            async with self._limits[model]:
                completion = await self._complete(model, prompt, sampling, seed)
        except (RequestRejected, DeadlineExceeded) as error:
            metrics.LLM_CALLS.labels(model, "failed").inc()
            # In vain, but not in no time: a failing model must not look fast.
            waited = perf_counter() - started
            nothing = Completion(text="", prompt_tokens=0, output_tokens=0, seconds=waited)
            return CallResult(nothing, executed=True, failure=str(error))
        _count(model, completion)
        await self._writes.submit((key, completion))
        return CallResult(completion, executed=True)

    async def _complete(self, model: str, prompt: str, sampling: Sampling, seed: int) -> Completion:
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with metrics.LLM_CALLS_IN_FLIGHT.labels(model).track_inprogress():
                    return await self._models[model].complete(
                        prompt, sampling, seed=seed, timeout=self._timeout
                    )
            except (ModelUnavailable, DeadlineExceeded):
                if attempt == ATTEMPTS:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause *= 2
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _find(self, keys: Sequence[str]) -> Sequence[Completion | None]:
        known = await self._cache.find(keys)
        return [known.get(key) for key in keys]

    async def _store(self, entries: Sequence[tuple[str, Completion]]) -> Sequence[None]:
        await self._cache.store(dict(entries))
        return [None] * len(entries)


def _count(model: str, completion: Completion) -> None:
    metrics.LLM_CALLS.labels(model, "executed").inc()
    metrics.LLM_CALL_SECONDS.labels(model).observe(completion.seconds)
    metrics.LLM_TOKENS.labels(model, "input").inc(completion.prompt_tokens)
    metrics.LLM_TOKENS.labels(model, "output").inc(completion.output_tokens)
