"""The stack: every server and service, started and ended together.

`up` starts what `blueprint` drew, `down` ends what the state file names. Processes outlive the
command; nothing outlives a failed or interrupted `up`.
"""

import asyncio
import shutil
import sys
from pathlib import Path

from graphwright.local.blueprint import PLANNER_PORT, Blueprint, Options, draw
from graphwright.local.errors import PlatformUnsupported
from graphwright.local.given import check
from graphwright.local.ports import LOOPBACK
from graphwright.local.probes import http_ok
from graphwright.local.server import Server
from graphwright.local.servers import TritonServer
from graphwright.local.service import Service
from graphwright.local.settings import LocalSettings
from graphwright.local.state import Member, StackState, forget, load, locked, save


def planner_url() -> str:
    """host:port of the local stack's planner; the usual address where no stack is recorded."""
    state = load(LocalSettings().home)
    usual = f"{LOOPBACK}:{PLANNER_PORT}"
    return usual if state is None else state.urls.get("GRAPHWRIGHT_URL", usual)


async def up(
    options: Options, settings: LocalSettings, waiting: set[str]
) -> tuple[StackState, bool]:
    """Start the stack; `waiting` holds the names of what is not ready yet, for a display.

    Returns the state and whether anything was started: a stack that runs already is left alone.

    Raises:
        LocalError: something could not be started; nothing is left running.
    """
    if sys.platform != "linux":
        raise PlatformUnsupported(sys.platform)
    with locked(settings.home):
        found = load(settings.home)
        if found is not None and found.alive:
            return found, False
        if found is not None:
            await _end(found)
            forget(settings.home)
        await asyncio.gather(*(check(name, url) for name, url in settings.given.items()))
        return await _Start(draw(options, settings), settings.home, waiting).run(), True


async def down(settings: LocalSettings) -> list[str]:
    """End the stack in the reverse order of its start; the names of what was ended.

    Raises:
        LocalError: another command is at work.
    """
    with locked(settings.home):
        state = load(settings.home)
        if state is None:
            return []
        running = [member.process.name for member in state.members if member.process.alive]
        await _end(state)
        forget(settings.home)
        return running


async def health(state: StackState) -> dict[str, str]:
    """Per process: `ready`, `running` (it cannot tell, or is not ready) or `ended`."""
    words = await asyncio.gather(*(_word(member) for member in state.members))
    return {m.process.name: word for m, word in zip(state.members, words, strict=True)}


async def _word(member: Member) -> str:
    if not member.process.alive:
        return "ended"
    if not member.ready_url:
        return "running"
    return "ready" if await http_ok(member.ready_url) else "not ready"


async def _end(state: StackState) -> None:
    """Services first, for they need the servers to finish what they have in hand."""
    for tier in (True, False):
        members = [member for member in state.members if member.service is tier]
        await asyncio.gather(*(m.process.stop(m.grace_seconds) for m in reversed(members)))


class _Start:
    """One start of everything, as concurrent as the needs of the parts allow."""

    def __init__(self, blueprint: Blueprint, home: Path, waiting: set[str]) -> None:
        self._blueprint = blueprint
        self._home = home
        self._waiting = waiting
        self._state = StackState(urls=dict(blueprint.urls), ports=dict(blueprint.ports))

    async def run(self) -> StackState:
        """Start, record and wait until everything is ready; or leave nothing behind."""
        shutil.rmtree(self._home / "logs", ignore_errors=True)
        try:
            await self._all()
        except BaseException as error:  # an interrupt must not leave processes behind either
            await _end(self._state)
            forget(self._home)
            if isinstance(error, ExceptionGroup):
                raise _first(error) from None
            raise
        self._record(complete=True)
        return self._state

    async def _all(self) -> None:
        async with asyncio.TaskGroup() as group:
            stores = []
            for server in self._blueprint.servers:
                task = group.create_task(self._one(server))
                # Services connect to Triton when they first call a model, to the others at once.
                if not isinstance(server, TritonServer):
                    stores.append(task)
            await asyncio.gather(*stores)
            for service in self._blueprint.services:
                group.create_task(self._one(service))

    async def _one(self, server: Server) -> None:
        self._waiting.add(server.label)
        member = Member(
            process=server.spawn(),
            ready_url=server.ready_url,
            grace_seconds=server.grace_seconds,
            service=isinstance(server, Service),
        )
        self._record(member)
        await server.wait_ready()
        self._waiting.discard(server.label)

    def _record(self, *members: Member, complete: bool = False) -> None:
        known = (*self._state.members, *members)
        self._state = self._state.model_copy(update={"members": known, "complete": complete})
        save(self._home, self._state)


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The first error that is not a group; what the others report follows from it."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
