"""A search through the real ring: it ends with a graph, repeats exactly, and adds up."""

from collections.abc import AsyncIterator
from urllib.request import urlopen

import nats
import pytest
from pymongo import AsyncMongoClient

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.converters.search import decode_search_event
from graphwright.local.servers import TritonServer
from graphwright.pools.pool import load_pool

from .ring import Ring, a_spec, essence, ring


@pytest.fixture(scope="module")
async def one(
    tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, triton: TritonServer
) -> AsyncIterator[Ring]:
    async with ring(tmp_path_factory.mktemp("one"), mongodb_uri, triton) as running:
        yield running


async def test_a_search_ends_with_a_measured_graph(one: Ring) -> None:
    search, trials = await one.run(a_spec())
    result = search.result
    assert result is not None
    assert result.budget_units <= search.spec.budget.limit
    assert {single.model for single in result.single_models} == {
        card.name for card in load_pool("pocket").models
    }
    assert all(trial.budget_units <= search.spec.budget.limit for trial in trials)
    assert {trial.stage for trial in trials} == {"pretest", "instances", "search"}
    assert max(trial.iteration for trial in trials) == search.spec.iterations


async def test_random_search_runs_on_the_same_ring(one: Ring) -> None:
    search, trials = await one.run(a_spec(optimizer="random"))
    assert {trial.origin for trial in trials} == {"random"}
    assert search.result is not None


async def test_equal_searches_have_equal_trials_whatever_the_number_of_executors(
    one: Ring, tmp_path, mongodb_uri: str, triton: TritonServer
) -> None:
    _, first = await one.run(a_spec(seed=11))
    _, cached = await one.run(a_spec(seed=11))
    async with ring(tmp_path, mongodb_uri, triton, executors=3) as three:
        _, spread = await three.run(a_spec(seed=11))
        taken = [_metric(three, label, "graphwright_batches_total") for label in three.services]
    assert essence(cached) == essence(first)
    assert essence(spread) == essence(first)
    assert sum(count > 0 for count in taken) >= 2, "the executors did not share the work"


async def test_another_seed_gives_other_trials(one: Ring) -> None:
    _, first = await one.run(a_spec(seed=11))
    _, other = await one.run(a_spec(seed=12))
    assert essence(first) != essence(other)


async def test_calls_add_up_in_triton_mongodb_and_nats(
    one: Ring, mongodb_uri: str, triton: TritonServer
) -> None:
    """Three witnesses: Triton's counters, the archive's documents, the NATS server's counters."""
    before, messages = _inferences(triton), await _stream_messages(one)
    search, trials = await one.run(a_spec(seed=21))
    assert _inferences(triton) - before == search.progress.usage.executed_calls
    assert (
        sum(trial.usage.executed_calls for trial in trials) < search.progress.usage.executed_calls
    )
    async with AsyncMongoClient(mongodb_uri) as client:
        stored = await client[one.database]["trials"].count_documents({"search_id": search.id})
    assert stored == len(trials)
    after = await _stream_messages(one)
    moved = {name: count - messages[name] for name, count in after.items()}
    assert moved["EXECUTE"] == moved["EXECUTED"] == moved["GRADED"] > search.progress.rounds
    assert moved["DEAD_LETTERS"] == 0


async def test_watching_ends_with_the_search(one: Ring) -> None:
    search = await one.submit(a_spec(seed=31))
    stream = one.stub.WatchSearch(pb.WatchSearchRequest(search_id=search.id), timeout=60)
    events = [decode_search_event(response.event) async for response in stream]
    assert [event.sequence for event in events] == sorted({event.sequence for event in events})
    assert events[-1].state == "succeeded"
    assert events[-1].progress == (await one.get(search.id)).progress


async def test_the_same_request_id_starts_one_search(one: Ring) -> None:
    first = await one.submit(a_spec(seed=41), request_id="again")
    second = await one.submit(a_spec(seed=41), request_id="again")
    assert first.id == second.id
    await one.finish(first)


async def test_a_cancelled_search_ends_soon_and_writes_nothing_more(one: Ring) -> None:
    search = await one.submit(a_spec(seed=51, iterations=500, patience=500))
    while not await one.trials(search.id):
        pass
    await one.stub.CancelSearch(pb.CancelSearchRequest(search_id=search.id), timeout=10)
    ended = await one.finish(search, seconds=10)
    assert ended.state == "cancelled"
    trials = await one.trials(search.id)
    await one.run(a_spec(seed=52, optimizer="random"))
    assert await one.trials(search.id) == trials
    assert await one.get(search.id) == ended


def _inferences(triton: TritonServer) -> int:
    """Prompts answered according to Triton, over all models."""
    with urlopen(triton.metrics_url) as response:  # noqa: S310 -- loopback
        lines = response.read().decode().splitlines()
    return sum(
        int(float(line.rsplit(" ", 1)[1]))
        for line in lines
        if line.startswith("nv_inference_count{")
    )


async def _stream_messages(running: Ring) -> dict[str, int]:
    """Messages that each stream has ever stored, as the NATS server counts them."""
    connection = await nats.connect(running.nats.url)
    streams = await connection.jetstream().streams_info()
    await connection.close()
    return {s.config.name.removeprefix("GRAPHWRIGHT_"): s.state.last_seq for s in streams}


def _metric(running: Ring, label: str, name: str) -> float:
    """Sum of a service's metric over its labels."""
    with urlopen(f"{running.services[label].url}/metrics") as response:  # noqa: S310
        lines = response.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))
