"""What MongoArchive has acknowledged outlives a killed server, and no call waits for ever."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TypeVar

import pytest

from graphwright.archive.mongo import MongoArchive
from graphwright.archive.port import Archive, ArchiveUnavailable, Lease
from graphwright.local.servers import MongoServer, mongod
from graphwright.search.search import Search

from .archive_examples import a_batch, a_search, a_trial
from .archive_steps import LONG, advanced, claim, every_trial

KILLS = 5
RESUME_SECONDS = 30.0

T = TypeVar("T")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[MongoServer]:
    """A server of this test's own, to be killed."""
    async with mongod(tmp_path / "data") as server:
        yield server


class Writer:
    """Writes all the time, and remembers what was acknowledged."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.stopping = asyncio.Event()
        self.searches: list[Search] = []
        self.batches: list[str] = []
        self.iterations: dict[str, int] = {}

    @property
    def acknowledged(self) -> int:
        return len(self.searches) + len(self.batches) + sum(self.iterations.values())

    async def create(self) -> None:
        while not self.stopping.is_set():
            search = a_search()
            self.searches.append(await self.insist(self.archive.create_search, search))

    async def grade(self) -> None:
        while not self.stopping.is_set():
            batch = a_batch("of nobody", f"{len(self.batches):06d}")
            await self.insist(self.archive.save_graded, batch)
            self.batches.append(batch.batch_id)

    async def advance(self, search: Search, lease: Lease) -> None:
        self.iterations[search.id] = 0
        while not self.stopping.is_set():
            iteration = self.iterations[search.id] + 1
            await self.insist(self.checkpoint, search, lease, iteration)
            self.iterations[search.id] = iteration

    async def checkpoint(self, search: Search, lease: Lease, iteration: int) -> None:
        trials = [a_trial(search.id, f"{iteration:06d}-{name}") for name in "ab"]
        state = {"iteration": iteration}
        step = advanced(search, iteration)
        await self.archive.checkpoint(lease, step, state=state, trials=trials)

    async def insist(self, write: Callable[..., Awaitable[T]], *arguments: object) -> T:
        deadline = monotonic() + RESUME_SECONDS
        while True:
            try:
                return await write(*arguments)
            except ArchiveUnavailable:
                assert monotonic() < deadline, "writing has not resumed"


async def test_every_acknowledged_write_survives_kills_amid_writes(server: MongoServer) -> None:
    archive = await MongoArchive.connect(server.url)
    writer = Writer(archive)
    search = await archive.create_search(a_search())
    lease = await claim(archive, "planner", LONG)
    async with asyncio.TaskGroup() as tasks:
        for work in (writer.create(), writer.create(), writer.grade()):
            tasks.create_task(work)
        tasks.create_task(writer.advance(search, lease))
        for _ in range(KILLS):
            await progress(writer)
            server.kill()
            await server.restart()
        await progress(writer)
        writer.stopping.set()
    server.kill()
    await server.restart()
    await check(archive, writer, search)
    await archive.close()


async def progress(writer: Writer) -> None:
    """Wait for some acknowledged writes, and then for a random moment between two of them."""
    wanted = writer.acknowledged + 40
    async with asyncio.timeout(RESUME_SECONDS):
        while writer.acknowledged < wanted:
            await asyncio.sleep(0.01)
    await asyncio.sleep(random.uniform(0, 0.05))


async def check(archive: Archive, writer: Writer, search: Search) -> None:
    for created in writer.searches:
        assert await archive.get_search(created.id) == created
    batches = {batch.batch_id for batch in await archive.graded_batches("of nobody")}
    assert batches == set(writer.batches)
    # A checkpoint is whole: its search, its state and both of its trials.
    iteration = writer.iterations[search.id]
    assert (await archive.get_search(search.id)).progress.iteration == iteration
    assert await archive.session_state(search.id) == {"iteration": iteration}
    assert len(await every_trial(archive, search.id)) == 2 * iteration


async def test_checkpoint_in_flight_when_the_server_dies_is_whole_or_absent(
    server: MongoServer,
) -> None:
    archive = await MongoArchive.connect(server.url, timeout_seconds=0.5)
    writer = Writer(archive)
    search = await archive.create_search(a_search())
    lease = await claim(archive, "planner", LONG)
    advancing = asyncio.create_task(advance_until_unavailable(writer, search, lease))
    await progress(writer)
    server.kill()
    await advancing
    await archive.close()
    await server.restart()
    patient = await MongoArchive.connect(server.url)
    iteration = (await patient.get_search(search.id)).progress.iteration
    assert iteration - writer.iterations[search.id] in (0, 1)
    assert await patient.session_state(search.id) == {"iteration": iteration}
    assert len(await every_trial(patient, search.id)) == 2 * iteration
    await patient.close()


async def advance_until_unavailable(writer: Writer, search: Search, lease: Lease) -> None:
    writer.iterations[search.id] = 0
    with suppress(ArchiveUnavailable):
        while True:
            await writer.checkpoint(search, lease, writer.iterations[search.id] + 1)
            writer.iterations[search.id] += 1


async def test_frozen_server_makes_calls_unavailable_in_time(server: MongoServer) -> None:
    archive = await MongoArchive.connect(server.url, timeout_seconds=1.0)
    search = await archive.create_search(a_search())
    lease = await claim(archive, "planner", LONG)
    await freeze(server.pid)
    begun = monotonic()
    calls: list[Awaitable[object]] = [
        archive.ping(),
        archive.get_search(search.id),
        archive.renew(lease, LONG),
        archive.checkpoint(lease, advanced(search, 1), state={}),
    ]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    waited = monotonic() - begun
    os.kill(server.pid, signal.SIGCONT)
    assert [type(outcome) for outcome in outcomes] == [ArchiveUnavailable] * len(calls)
    assert waited < 5
    await archive.close()
    patient = await MongoArchive.connect(server.url)
    assert await patient.get_search(search.id) == search
    await patient.close()


async def freeze(pid: int) -> None:
    """Stop a process and wait until its last thread stands still."""
    os.kill(pid, signal.SIGSTOP)
    while not stands_still(pid):
        await asyncio.sleep(0.01)


def stands_still(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return all("State:\tT" in (thread / "status").read_text() for thread in threads)
