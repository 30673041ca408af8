"""Merging candidates, dataflow scheduling and accounting, on a model that answers by rule."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from graphwright.archive.port import CallCache
from graphwright.executor.accounts import executions
from graphwright.executor.caller import Caller
from graphwright.executor.plan import merge
from graphwright.executor.scheduler import run_question
from graphwright.graphs.graph import Graph, Node, Role
from graphwright.inference.port import LanguageModel, ModelUnavailable, RequestRejected
from graphwright.pools.pool import load_pool
from graphwright.search.calls import Completion, Sampling
from graphwright.search.messages import BatchGraph, BatchQuestion, ExecuteBatch
from graphwright.tasks.catalog import load_task

SMALL, LARGE = "abacus-55k", "abacus-440k"
TASK, POOL = load_task("arithmetic"), load_pool("pocket")
QUESTION = BatchQuestion(id="q", text="1+2+3+4")


class MemoryCache(CallCache):
    """A call cache in a dictionary."""

    def __init__(self) -> None:
        self.calls: dict[str, Completion] = {}

    async def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        return {key: self.calls[key] for key in keys if key in self.calls}

    async def store(self, completions: Mapping[str, Completion]) -> None:
        self.calls = {**completions, **self.calls}


class RuleModel(LanguageModel):
    """Answers with a digest of prompt and seed; `hold` delays it, `fault` makes it raise."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.under_way: Counter[str] = Counter()
        self.most_under_way = 0
        self.hold: asyncio.Event | None = None
        self.fault: Exception | None = None
        self.cancelled = 0

    async def complete(
        self, prompt: str, sampling: Sampling, *, seed: int, timeout: float
    ) -> Completion:
        self.calls.append((prompt, seed))
        self.under_way["all"] += 1
        self.most_under_way = max(self.most_under_way, self.under_way["all"])
        try:
            await (self.hold.wait() if self.hold else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way["all"] -= 1
        if self.fault:
            raise self.fault
        text = f"<{len(prompt)}:{seed % 1000}>"
        return Completion(text=text, prompt_tokens=len(prompt), output_tokens=9, seconds=0.25)

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None


def star(width: int, model: str = SMALL, sink: str = SMALL) -> Graph:
    nodes = [Node(role=Role.ASSISTANT, model=model)] * width
    return Graph(
        nodes=(*nodes, Node(role=Role.FUSER, model=sink)),
        edges=tuple((source, width) for source in range(width)),
    )


def batch(graphs: Mapping[str, Graph], *, share_draws: bool = True) -> ExecuteBatch:
    return ExecuteBatch(
        search_id="s",
        batch_id="s.0.train.0",
        task=TASK.name,
        task_hash=TASK.content_hash,
        pool=POOL.name,
        epoch="search/0",
        seed=1,
        share_draws=share_draws,
        sampling=Sampling(max_tokens=64, stop=TASK.stop),
        graphs=tuple(BatchGraph(trial_id=name, graph=graph) for name, graph in graphs.items()),
        questions=(QUESTION,),
    )


def caller(
    model: RuleModel,
    cache: CallCache | None = None,
    concurrency: int = 64,
    revision: str = "",
) -> Caller:
    change = {"max_concurrency": concurrency, "revision": revision}
    cards = tuple(card.model_copy(update=change) for card in POOL.models)
    pool = POOL.model_copy(update={"models": cards})
    models = {card.name: model for card in cards}
    return Caller(pool, models, cache or MemoryCache(), timeout=5.0)


async def run(
    graphs: Mapping[str, Graph], model: RuleModel, *, share_draws: bool = True, **kwargs: object
) -> dict[str, object]:
    command = batch(graphs, share_draws=share_draws)
    plan = merge(command.graphs, TASK.prompts.fingerprints(), share_draws=share_draws)
    results = await run_question(plan, QUESTION, command, TASK.prompts, caller(model, **kwargs))  # type: ignore[arg-type]
    return {run.trial_id: run for run in executions(plan, QUESTION.id, results, POOL)}


async def test_shared_nodes_of_candidates_are_called_once() -> None:
    model = RuleModel()
    runs = await run({"a": star(2), "b": star(3), "c": Graph.single(SMALL)}, model)
    # Three distinct roots and two fusers; the single node is the first root.
    assert len(model.calls) == 5
    assert [runs[name].calls for name in "abc"] == [3, 4, 1]
    assert sum(runs[name].executed_calls for name in "abc") == 5


async def test_without_shared_draws_every_candidate_calls_for_itself() -> None:
    model = RuleModel()
    runs = await run({"a": star(2), "b": star(2)}, model, share_draws=False)
    assert len(model.calls) == 6
    assert runs["a"].answer != runs["b"].answer


async def test_equal_siblings_draw_differently() -> None:
    model = RuleModel()
    await run({"a": star(4)}, model)
    assert len(set(model.calls)) == 5


async def test_a_graph_answers_the_same_whatever_it_runs_beside() -> None:
    alone = await run({"a": star(3)}, RuleModel())
    beside = await run({"x": star(5), "a": star(3), "y": star(2, LARGE)}, RuleModel())
    assert alone["a"].answer == beside["a"].answer


async def test_predecessors_are_read_in_signature_order() -> None:
    """Whatever the numbering: mirrored graphs give the same prompt to the fuser."""
    nodes = (Node(role="assistant", model=SMALL), Node(role="assistant", model=LARGE))
    sink = Node(role="fuser", model=SMALL)
    one = Graph(nodes=(*nodes, sink), edges=((0, 2), (1, 2)))
    other = Graph(nodes=(*nodes[::-1], sink), edges=((0, 2), (1, 2)))
    model = RuleModel()
    runs = await run({"one": one, "other": other}, model)
    assert runs["one"].answer == runs["other"].answer
    assert len(model.calls) == 3


async def test_a_node_starts_when_its_own_predecessors_are_done() -> None:
    """The fast chain reaches its end while the root of the slow one waits."""
    slow, fast = RuleModel(), RuleModel()
    slow.hold = asyncio.Event()
    node = lambda model: Node(role="assistant", model=model)  # noqa: E731
    graph = Graph(
        nodes=(node(LARGE), node(SMALL), node(SMALL), node(SMALL)),
        edges=((0, 3), (1, 2), (2, 3)),
    )
    command = batch({"a": graph})
    plan = merge(command.graphs, TASK.prompts.fingerprints(), share_draws=True)
    both = Caller(POOL, {SMALL: fast, LARGE: slow}, MemoryCache(), timeout=5)
    task = asyncio.create_task(run_question(plan, QUESTION, command, TASK.prompts, both))
    async with asyncio.timeout(5):
        while len(fast.calls) < 2:
            await asyncio.sleep(0)
    assert len(slow.calls) == 1
    slow.hold.set()
    assert len(await task) == 4


async def test_latency_is_the_critical_path_and_usage_is_charged_in_full() -> None:
    runs = await run({"a": star(3)}, RuleModel())
    assert runs["a"].latency_seconds == pytest.approx(0.5)
    assert runs["a"].output_tokens == 4 * 9
    assert runs["a"].flops > 0
    assert runs["a"].usd > 0


async def test_the_concurrency_limit_of_a_model_holds() -> None:
    model = RuleModel()
    await run({"a": star(12)}, model, concurrency=3)
    assert model.most_under_way == 3


async def test_a_finished_call_is_never_made_again() -> None:
    cache, model = MemoryCache(), RuleModel()
    first = await run({"a": star(3)}, model, cache=cache)
    again = await run({"a": star(3)}, model, cache=cache)
    assert len(model.calls) == 4
    assert again["a"].executed_calls == 0
    assert again["a"].answer == first["a"].answer
    assert again["a"].calls == 4


async def test_other_weights_of_the_same_name_are_called_anew() -> None:
    cache, model = MemoryCache(), RuleModel()
    await run({"a": star(3)}, model, cache=cache, revision="one")
    again = await run({"a": star(3)}, model, cache=cache, revision="two")
    assert again["a"].executed_calls == 4


async def test_a_refused_request_is_an_empty_flagged_output() -> None:
    model = RuleModel()
    model.fault = RequestRejected(SMALL, "prompt too long")
    runs = await run({"a": star(2)}, model)
    assert runs["a"].failed
    assert "prompt too long" in runs["a"].failure
    assert runs["a"].answer == ""


async def test_an_unreachable_model_fails_the_batch_after_retries() -> None:
    model = RuleModel()
    model.fault = ModelUnavailable(SMALL, "connection refused")
    with pytest.raises(ModelUnavailable):
        await run({"a": Graph.single(SMALL)}, model)
    assert len(model.calls) == 4


async def test_cancelling_the_last_waiter_cancels_the_call() -> None:
    model = RuleModel()
    model.hold = asyncio.Event()
    shared = caller(model)
    sampling = Sampling(max_tokens=8)
    first, second = (
        asyncio.create_task(shared.call(SMALL, "p", sampling, seed=1)) for _ in range(2)
    )
    async with asyncio.timeout(5):
        while not model.calls:
            await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert model.cancelled == 0
    second.cancel()
    await asyncio.wait([second])
    async with asyncio.timeout(5):
        while not model.cancelled:
            await asyncio.sleep(0)
