"""`graphwright up`, `down` and `status` with the real servers and services."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from graphwright.local.ports import LOOPBACK, free_ports
from graphwright.local.probes import http_ok
from graphwright.local.servers import NatsServer, nats_server
from graphwright.local.state import StackState, load

GRAPHWRIGHT = (sys.executable, "-c", "from graphwright.cli.app import main; main()")


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Machine:
    """A folder to run stacks in, and somebody who listens but never answers."""

    home: Path
    listener: int

    @property
    def no_triton(self) -> dict[str, str]:
        """Spares the start of Triton: services do not call it before they have work."""
        return {"TRITON_URL": f"{LOOPBACK}:{self.listener}"}

    async def start(self, *words: str, env: Mapping[str, str] = {}) -> asyncio.subprocess.Process:
        """Start the command."""
        own = {"NATS_URL", "MONGODB_URI", "TRITON_URL"}
        clean = {name: value for name, value in os.environ.items() if name not in own}
        return await asyncio.create_subprocess_exec(
            *GRAPHWRIGHT,
            *words,
            env=clean | {"GRAPHWRIGHT_HOME": str(self.home)} | dict(env),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *words: str, env: Mapping[str, str] = {}) -> Said:
        """Run the command to its end."""
        command = await self.start(*words, env=env)
        out, err = await command.communicate()
        assert command.returncode is not None
        return Said(command.returncode, out.decode(), err.decode())

    async def status(self) -> dict[str, Any]:
        """What `status --json` prints."""
        answer: dict[str, Any] = json.loads((await self.run("status", "--json")).out)
        return answer

    def state(self) -> StackState:
        """The record on disk."""
        state = load(self.home)
        assert state is not None
        return state

    async def recorded(self, *names: str) -> StackState:
        """Wait until the record names these processes."""
        async with asyncio.timeout(30):
            while True:
                state = load(self.home)
                known = {m.process.name for m in state.members} if state else set()
                if state is not None and known >= set(names):
                    return state
                await asyncio.sleep(0.01)


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    """A machine on which nothing runs, before and after."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        machine = Machine(tmp_path / "home", listener.getsockname()[1])
        yield machine
    state = load(machine.home)
    await machine.run("down")
    assert state is None or leftovers(state) == []


def leftovers(state: StackState) -> list[int]:
    """Processes of a stack that still run."""
    return [pid for member in state.members for pid in member.process.members()]


async def test_up_starts_everything_and_down_ends_it(machine: Machine) -> None:
    up = await machine.run("up", "--executors", "2")
    assert up.code == 0, up.err
    state, status = machine.state(), await machine.status()

    assert status["running"] is True
    states = {process["name"]: process["state"] for process in status["processes"]}
    services = ["planner", "executor", "evaluator", "executor-2"]
    assert states == {"nats": "running", "mongodb": "running", "triton": "ready"} | {
        name: "ready" for name in services
    }
    for name in services:
        port = status["ports"][f"{name}-http"]
        assert await http_ok(f"http://127.0.0.1:{port}/healthz")
        assert await http_ok(f"http://127.0.0.1:{port}/metrics")
    assert all(process["log"].startswith(str(machine.home)) for process in status["processes"])
    assert all(url in up.out for url in state.urls.values())

    down = await machine.run("down")
    assert down.code == 0
    assert "triton" in down.out
    assert leftovers(state) == []
    assert (await machine.status())["running"] is False
    assert "nothing was running" in (await machine.run("down")).out


async def test_a_second_up_leaves_the_first_alone(machine: Machine) -> None:
    assert (await machine.run("up", env=machine.no_triton)).code == 0
    first = machine.state()
    again = await machine.run("up", env=machine.no_triton)
    assert (again.code, machine.state()) == (0, first)
    assert "already" in again.out


async def test_a_stack_with_a_dead_part_is_started_anew_and_keeps_its_data(
    machine: Machine,
) -> None:
    assert (await machine.run("up", env=machine.no_triton)).code == 0
    first = machine.state()
    client: AsyncMongoClient[dict[str, int]] = AsyncMongoClient(first.urls["MONGODB_URI"])
    async with client:
        await client["kept"]["things"].insert_one({"answer": 42})
    planner = next(m.process for m in first.members if m.process.name == "planner")
    planner.kill()
    status = await machine.status()
    assert status["running"] is False
    assert "ended" in {process["state"] for process in status["processes"]}

    up = await machine.run("up", "--mongodb-port", str(free_ports(1)[0]), env=machine.no_triton)
    assert up.code == 0, up.err
    assert leftovers(first) == []
    client = AsyncMongoClient(machine.state().urls["MONGODB_URI"])
    async with client:
        assert await client["kept"]["things"].count_documents({"answer": 42}) == 1


async def test_a_server_of_ones_own_is_used_and_left_running(
    machine: Machine, tmp_path: Path
) -> None:
    async with nats_server(tmp_path / "nats") as own:
        up = await machine.run("up", env=machine.no_triton | {"NATS_URL": own.url})
        assert up.code == 0, up.err
        state = machine.state()
        assert state.urls["NATS_URL"] == own.url
        assert "nats" not in {member.process.name for member in state.members}
        await machine.run("down")
        assert await own.ready()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_up_leaves_nothing(machine: Machine, number: signal.Signals) -> None:
    command = await machine.start("up")
    state = await machine.recorded("nats", "mongodb", "triton")
    command.send_signal(number)
    await command.communicate()
    assert command.returncode != 0
    assert leftovers(state) == []
    assert load(machine.home) is None


async def test_what_a_killed_up_left_is_ended_by_down(machine: Machine) -> None:
    command = await machine.start("up", env=machine.no_triton)
    await machine.recorded("nats", "mongodb")
    command.kill()
    await command.wait()
    state = machine.state()
    assert leftovers(state)
    assert (await machine.status())["running"] is False
    assert (await machine.run("down")).code == 0
    assert leftovers(state) == []


async def test_a_taken_port_is_named_and_nothing_is_started(
    machine: Machine, tmp_path: Path
) -> None:
    async with nats_server(tmp_path / "other") as other:
        up = await machine.run("up", "--planner-port", str(other.port), env=machine.no_triton)
    assert up.code == 1
    assert up.err.strip() == (
        f"graphwright: port {other.port} is taken: stop what listens there or choose another"
        " with --planner-port"
    )
    assert load(machine.home) is None


async def test_a_service_that_does_not_start_is_named_with_its_log(machine: Machine) -> None:
    up = await machine.run("up", env=machine.no_triton | {"GRAPHWRIGHT_PLANNER_SEARCHES": "0"})
    assert up.code == 1
    assert up.err.startswith("graphwright: planner did not start (the process ended)")
    assert str(machine.home / "logs" / "planner.log") in up.err
    assert "searches" in up.err
    assert load(machine.home) is None


async def test_a_server_of_ones_own_that_does_not_answer_is_named(machine: Machine) -> None:
    up = await machine.run("up", env={"MONGODB_URI": "mongodb://u:secret@127.0.0.1:1/?w=1"})
    assert up.code == 1
    assert up.err.strip() == (
        "graphwright: MONGODB_URI is set, but nothing answers at 127.0.0.1:1: start that server"
        " or unset MONGODB_URI"
    )
    assert load(machine.home) is None


async def test_bad_input_is_refused(machine: Machine) -> None:
    for words in (["--executors", "0"], ["--nats-port", "70000"]):
        assert (await machine.run("up", *words)).code == 2


async def test_a_killed_server_starts_again_with_its_data_at_the_same_place(
    tmp_path: Path,
) -> None:
    server: NatsServer
    async with nats_server(tmp_path) as server:
        first, url = server.pid, server.url
        server.kill()
        await server.restart()
        assert server.pid != first
        assert server.url == url
        assert await server.ready()
        process = server.process
    assert process is not None
    assert process.members() == []
