"""Commands about the local stack: up, down, status."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from graphwright.cli.faults import FAILED
from graphwright.local import stack
from graphwright.local.blueprint import Options
from graphwright.local.errors import LocalError
from graphwright.local.given import masked
from graphwright.local.settings import LocalSettings
from graphwright.local.state import StackState, load

T = TypeVar("T")
Port = Annotated[int | None, typer.Option(min=1, max=65535, show_default="the usual or any free")]

PATIENCE_SECONDS = 2.0
REFRESH_SECONDS = 0.2

out, err = Console(highlight=False), Console(stderr=True)


def up(
    executors: Annotated[int, typer.Option(min=1, max=64, help="Executor processes.")] = 1,
    nats_port: Port = None,
    mongodb_port: Port = None,
    triton_http_port: Port = None,
    triton_grpc_port: Port = None,
    triton_metrics_port: Port = None,
    planner_port: Port = None,
    http_port: Port = None,
) -> None:
    """Start all servers and services on this machine, in the background.

    NATS_URL, MONGODB_URI and TRITON_URL name servers to use instead of starting them.
    """
    options = Options(
        executors=executors,
        nats_port=nats_port,
        mongodb_port=mongodb_port,
        triton_http_port=triton_http_port,
        triton_grpc_port=triton_grpc_port,
        triton_metrics_port=triton_metrics_port,
        planner_port=planner_port,
        http_port=http_port,
    )
    settings = LocalSettings()
    waiting: set[str] = set()
    with _reported():
        state, started = asyncio.run(
            _shown(stack.up(options, settings, waiting), "starting", waiting)
        )
    out.print("graphwright is up" if started else "graphwright is up already")
    out.print(_addresses(state))
    out.print(f"logs: {settings.home / 'logs'}", soft_wrap=True)


def down() -> None:
    """End everything that `up` started; data stay."""
    with _reported():
        ended = asyncio.run(_shown(stack.down(LocalSettings()), "stopping", set()))
    out.print(f"ended {', '.join(ended)}" if ended else "nothing was running")


def status(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what runs, and where."""
    settings = LocalSettings()
    state = load(settings.home)
    health = {} if state is None else asyncio.run(stack.health(state))
    if json_:
        typer.echo(json.dumps(_object(state, health)))
    elif state is None:
        out.print("nothing is running: start it with graphwright up")
    else:
        out.print(_processes(state, health))
        out.print(_addresses(state))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, down, status):
        app.command()(command)


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except LocalError as error:
        typer.echo(f"graphwright: {error}", err=True)
        raise typer.Exit(FAILED) from error


async def _shown(work: Awaitable[T], verb: str, waiting: set[str]) -> T:
    """Await `work`, with a display once it takes long; SIGTERM ends it as Ctrl-C does."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await asyncio.wait([task], timeout=PATIENCE_SECONDS)
    with err.status(verb) as display:
        while not task.done():
            display.update(f"{verb} {', '.join(sorted(waiting))}")
            await asyncio.wait([task], timeout=REFRESH_SECONDS)
    return await task


def _object(state: StackState | None, health: dict[str, str]) -> dict[str, object]:
    if state is None:
        return {"running": False, "processes": [], "urls": {}, "ports": {}}
    processes = [
        {
            "name": member.process.name,
            "pid": member.process.pid,
            "state": health[member.process.name],
            "log": str(member.process.log),
        }
        for member in state.members
    ]
    return {
        "running": state.alive,
        "processes": processes,
        "urls": {name: masked(url) for name, url in state.urls.items()},
        "ports": state.ports,
    }


def _addresses(state: StackState) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, url in state.urls.items():
        table.add_row(name, masked(url))
    return table


def _processes(state: StackState, health: dict[str, str]) -> Table:
    table = Table("process", "pid", "state", "log", box=None)
    for member in state.members:
        process = member.process
        table.add_row(process.name, str(process.pid), health[process.name], str(process.log))
    return table
