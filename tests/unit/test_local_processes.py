"""Processes: found by pid and identity, ended together with all they started."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from graphwright.local.guard import Guard
from graphwright.local.processes import Launch, Process, identity, spawn

Shell = Callable[[str], Process]


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    """Starts shell scripts and ends what is left of them."""
    started: list[Process] = []

    def start(script: str) -> Process:
        environment = {"PATH": "/usr/bin:/bin"}
        launch = Launch("script", ("/bin/sh", "-c", script), environment, tmp_path / "logs" / "log")
        started.append(spawn(launch))
        return started[-1]

    yield start
    for process in started:
        await process.killed()


async def said(process: Process, line: str) -> None:
    """Wait until the process has written a line."""
    async with asyncio.timeout(10):
        while line not in process.log.read_text().splitlines():
            await asyncio.sleep(0.01)


async def test_a_process_runs_in_a_session_of_its_own_and_writes_to_its_log(shell: Shell) -> None:
    process = shell("echo out; echo err >&2; sleep 60")
    await said(process, "out")
    await said(process, "err")
    assert process.alive
    assert os.getsid(process.pid) == process.pid


async def test_stop_lets_a_process_leave_in_good_order(shell: Shell) -> None:
    process = shell("trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.01; done")
    await said(process, "up")
    await process.stop(grace=10)
    assert not process.alive
    await said(process, "bye")


async def test_stop_ends_a_deaf_process_and_its_children(shell: Shell) -> None:
    process = shell("trap '' TERM; sleep 60 & echo up; while :; do sleep 0.01; done")
    await said(process, "up")
    assert len(process.members()) >= 2
    await process.stop(grace=0.1)
    assert process.members() == []


async def test_orphans_of_a_dead_process_are_still_found(shell: Shell) -> None:
    process = shell("sleep 60 & echo up; wait")
    await said(process, "up")
    os.kill(process.pid, signal.SIGKILL)
    async with asyncio.timeout(5):
        while process.alive:
            await asyncio.sleep(0.01)
    assert len(process.members()) == 1
    await process.stop(grace=5)
    assert process.members() == []


async def test_a_stranger_with_the_same_number_is_spared(shell: Shell) -> None:
    process = shell("echo up; sleep 60")
    await said(process, "up")
    mistaken = process.model_copy(update={"identity": "an earlier boot:1"})
    assert not mistaken.alive
    await mistaken.killed()
    assert process.alive


async def test_a_process_is_found_again_from_its_record(shell: Shell) -> None:
    process = shell("sleep 60")
    again = Process.model_validate_json(process.model_dump_json())
    assert again.alive
    await again.stop(grace=5)
    assert not process.alive


def test_nobody_has_no_identity() -> None:
    assert identity(os.getpid()) is not None
    assert identity(2**22 + 1) is None


async def test_a_guarded_process_does_not_survive_its_keeper(shell: Shell, tmp_path: Path) -> None:
    process = shell("sleep 60")
    keeper = (
        "import os, signal, sys\n"
        "from graphwright.local.guard import Guard\n"
        "with Guard() as guard:\n"
        "    guard.watch(int(sys.argv[1]))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", keeper, str(process.pid))
    assert await child.wait() == -signal.SIGKILL
    async with asyncio.timeout(5):
        while process.alive:
            await asyncio.sleep(0.01)


async def test_a_guard_that_watches_nothing_ends_nothing(shell: Shell) -> None:
    process = shell("sleep 60")
    with Guard() as guard:
        guard.watch(process.pid)
        guard.watch(None)
    assert process.alive
