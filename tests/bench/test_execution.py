"""What merging and packing are worth, each against doing without, in one run on the real Triton.

Figures are printed as ratios; nothing here asserts a time.
"""

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter
from uuid import uuid4

import pytest

from graphwright.archive.port import CallCache
from graphwright.executor.caller import Caller
from graphwright.executor.plan import merge
from graphwright.executor.scheduler import run_question
from graphwright.graphs.graph import Graph, Node, Role
from graphwright.inference.catalog import open_models
from graphwright.local.servers import TritonServer
from graphwright.pools.pool import ModelPool, load_pool
from graphwright.search.calls import Completion, Sampling
from graphwright.search.messages import BatchGraph, BatchQuestion, ExecuteBatch
from graphwright.tasks.catalog import load_task
from graphwright.tasks.taskset import Split

TASK, POOL = load_task("arithmetic"), load_pool("pocket")
QUESTIONS = 64
PROMPTS = 256
SMALL = POOL.models[0].name


class NoCache(CallCache):
    """Knows nothing, so that every call is made."""

    async def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        return {}

    async def store(self, completions: Mapping[str, Completion]) -> None:
        return None


def star(width: int) -> Graph:
    nodes = [Node(role=Role.ASSISTANT, model=SMALL)] * width
    return Graph(
        nodes=(*nodes, Node(role=Role.FUSER, model=SMALL)),
        edges=tuple((source, width) for source in range(width)),
    )


def caller(pool: ModelPool, url: str) -> Caller:
    return Caller(pool, open_models(pool, url), NoCache(), timeout=60)


async def _round(using: Caller, *, share_draws: bool) -> tuple[float, int]:
    """Seconds and calls of four candidates on all questions; fresh seeds at every call."""
    command = ExecuteBatch(
        search_id="bench",
        batch_id=uuid4().hex,
        task=TASK.name,
        task_hash=TASK.content_hash,
        pool=POOL.name,
        epoch=uuid4().hex,
        seed=1,
        share_draws=share_draws,
        sampling=Sampling(max_tokens=TASK.max_tokens, stop=TASK.stop),
        graphs=tuple(BatchGraph(trial_id=f"t{w}", graph=star(w)) for w in (2, 3, 4, 5)),
        questions=tuple(
            BatchQuestion(id=q.id, text=q.text) for q in TASK.questions(Split.TRAIN)[:QUESTIONS]
        ),
    )
    plan = merge(command.graphs, TASK.prompts.fingerprints(), share_draws=share_draws)
    started = perf_counter()
    await asyncio.gather(
        *(run_question(plan, q, command, TASK.prompts, using) for q in command.questions)
    )
    return perf_counter() - started, len(plan.calls) * len(command.questions)


@pytest.mark.timeout(300)
async def test_merging_candidates(triton: TritonServer) -> None:
    using = caller(POOL, triton.grpc_url)
    await _round(using, share_draws=True)
    merged, calls = await _round(using, share_draws=True)
    apart, all_calls = await _round(using, share_draws=False)
    print(
        f"\nfour candidates on {QUESTIONS} questions: merged {calls} calls in {merged:.2f} s, "
        f"apart {all_calls} calls in {apart:.2f} s; {all_calls / calls:.2f} times fewer calls, "
        f"{apart / merged:.2f} times faster"
    )
    assert calls < all_calls
    await using.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("model", [card.name for card in POOL.models])
async def test_packing_prompts(model: str, triton: TritonServer) -> None:
    rates = {}
    for packed in (1, 64):
        cards = tuple(card.model_copy(update={"client_batch": packed}) for card in POOL.models)
        using = caller(POOL.model_copy(update={"models": cards}), triton.grpc_url)
        rates[packed] = await _tokens_per_second(using, model)
        await using.close()
    print(
        f"\n{model}: {rates[64]:.0f} generated tokens/s with up to 64 prompts in a request, "
        f"{rates[1]:.0f} with one; {rates[64] / rates[1]:.2f} times faster"
    )
    assert min(rates.values()) > 0


async def _tokens_per_second(using: Caller, model: str) -> float:
    questions = TASK.questions(Split.TRAIN)[:PROMPTS]
    prompts = [TASK.prompts.render(Role.ASSISTANT, q.text, ()) for q in questions]
    sampling = Sampling(max_tokens=TASK.max_tokens, stop=TASK.stop)
    await using.call(model, prompts[0], sampling, seed=0)
    started = perf_counter()
    results = await asyncio.gather(
        *(using.call(model, prompt, sampling, seed) for seed, prompt in enumerate(prompts))
    )
    tokens = sum(result.completion.output_tokens for result in results)
    return tokens / (perf_counter() - started)
