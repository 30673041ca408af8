"""A search survives the death of any process and ends as it would have ended undisturbed."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats
import pytest
from pymongo import AsyncMongoClient

from graphwright.local.servers import TritonServer, mongod
from graphwright.search.search import Search

from ..e2e.ring import Ring, a_spec, essence, ring

SPEC = a_spec(seed=61, iterations=4, batch=12)


async def _trials_reach(running: Ring, search: Search, count: int) -> None:
    async with asyncio.timeout(60):
        while len(await running.trials(search.id)) < count:
            await asyncio.sleep(0.02)


async def _disturbed(
    running: Ring, disturb: Callable[[Ring, Search], Awaitable[None]]
) -> tuple[Search, list[object]]:
    search = await running.submit(SPEC)
    await disturb(running, search)
    ended = await running.finish(search)
    assert ended.state == "succeeded", ended.error
    return ended, essence(await running.trials(search.id))


async def test_killing_each_service_once_changes_no_trial(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    async with ring(tmp_path / "calm", mongodb_uri, triton) as running:
        calm, undisturbed = await running.run(SPEC)

    async def kill_each(running: Ring, search: Search) -> None:
        for count, label in ((2, "executor-1"), (5, "evaluator"), (8, "planner")):
            await _trials_reach(running, search, count)
            running.services[label].kill()
            await running.services[label].restart()

    async with ring(tmp_path / "rough", mongodb_uri, triton) as running:
        rough, disturbed = await _disturbed(running, kill_each)
    assert disturbed == essence(undisturbed)
    assert calm.result is not None
    assert rough.result is not None
    assert rough.result.graph == calm.result.graph
    assert rough.result.test_score == calm.result.test_score


async def test_another_planner_takes_a_dead_planners_search_over(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    """The dead one is not started again; a second replica with a port of its own goes on."""
    async with ring(tmp_path / "calm", mongodb_uri, triton) as running:
        _, undisturbed = await running.run(SPEC)
    async with ring(tmp_path / "rough", mongodb_uri, triton) as running:
        search = await running.submit(SPEC)
        await _trials_reach(running, search, 4)
        async with running.second_planner():
            running.services["planner"].kill()
            ended = await running.finish(search)
            assert ended.state == "succeeded", ended.error
            assert essence(await running.trials(search.id)) == essence(undisturbed)


async def test_a_planner_that_takes_over_sends_only_what_was_not_graded(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    """One round of fifty batches, of which at least ten are graded when the planner dies."""
    spec = a_spec(optimizer="random", iterations=1, batch=800, seed=71)
    async with ring(tmp_path / "calm", mongodb_uri, triton) as running:
        await running.run(spec)
        needed = await _executed_batches(running)
    async with (
        ring(tmp_path / "rough", mongodb_uri, triton) as running,
        AsyncMongoClient(mongodb_uri) as client,
    ):
        search = await running.submit(spec)
        async with asyncio.timeout(30):
            while await client[running.database]["graded"].count_documents({}) < 10:
                pass
        running.services["planner"].kill()
        await running.services["planner"].restart()
        ended = await running.finish(search)
        assert ended.state == "succeeded", ended.error
        assert await _executed_batches(running) - needed <= 40


async def _executed_batches(running: Ring) -> int:
    connection = await nats.connect(running.nats.url)
    stream = await connection.jetstream().stream_info("GRAPHWRIGHT_EXECUTE")
    await connection.close()
    return stream.state.last_seq


async def test_following_survives_the_death_of_the_planner(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    async with ring(tmp_path, mongodb_uri, triton) as running:
        port = running.environment["GRAPHWRIGHT_PLANNER_GRPC_PORT"]
        search = await running.submit(SPEC)
        follower = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from graphwright.cli.app import main; main()"),
            *("watch", search.id),
            env=os.environ | {"GRAPHWRIGHT_URL": f"127.0.0.1:{port}"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await _trials_reach(running, search, 2)
        running.services["planner"].kill()
        await running.services["planner"].restart()
        out, _ = await asyncio.wait_for(follower.communicate(), timeout=60)
        assert follower.returncode == 0
        assert "succeeded" in out.decode()


async def test_a_planner_that_stops_in_good_order_gives_its_search_back(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    async with ring(tmp_path, mongodb_uri, triton) as running:
        search = await running.submit(SPEC)
        await _trials_reach(running, search, 2)
        await running.services["planner"].stop()
        await running.services["planner"].start()
        ended = await running.finish(search)
        assert ended.state == "succeeded", ended.error


@pytest.mark.parametrize("victim", ["nats", "triton"])
async def test_servers_may_die_and_come_back(
    victim: str, tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    async with ring(tmp_path / "calm", mongodb_uri, triton) as running:
        _, undisturbed = await running.run(SPEC)

    async def kill_server(running: Ring, search: Search) -> None:
        await _trials_reach(running, search, 4)
        await (running.nats if victim == "nats" else running.triton).restart()

    async with ring(tmp_path / "rough", mongodb_uri, triton) as running:
        _, disturbed = await _disturbed(running, kill_server)
    assert disturbed == essence(undisturbed)


async def test_mongodb_may_die_and_come_back(tmp_path: Path, triton: TritonServer) -> None:
    async with mongod(tmp_path / "mongodb") as database:
        async with ring(tmp_path / "rough", database.url, triton) as running:
            search = await running.submit(SPEC)
            await _trials_reach(running, search, 4)
            await database.restart()
            ended = await running.finish(search)
            assert ended.state == "succeeded", ended.error
            trials = await running.trials(search.id)
        async with ring(tmp_path / "calm", database.url, triton) as running:
            _, undisturbed = await running.run(SPEC)
    assert essence(trials) == essence(undisturbed)
