"""A server on this machine: how it is started, noticed to be ready, killed and started again."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import ClassVar, Self

from graphwright.local.errors import StartFailed
from graphwright.local.guard import Guard
from graphwright.local.probes import http_ok
from graphwright.local.processes import Launch, Process, spawn

POLL_SECONDS = 0.05
TAIL_LINES = 8
TAIL_COLUMNS = 300


class Server(ABC):
    """One server process with its folder; the same ports and data at every start."""

    name: ClassVar[str]
    variable: ClassVar[str] = ""  # of the environment, for a server of one's own instead
    start_seconds: ClassVar[float] = 60.0
    grace_seconds: ClassVar[float] = 10.0

    def __init__(self, log: Path) -> None:
        self.log = log
        self.process: Process | None = None
        self._guard: Guard | None = None

    @abstractmethod
    def launch(self) -> Launch:
        """Program, arguments and environment; may prepare folders."""

    async def ready(self) -> bool:
        """Whether it serves; may do what must be done once after the start."""
        return await http_ok(self.ready_url)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where its clients find it."""

    @property
    def ready_url(self) -> str:
        """Answered with status 200 while it serves; empty for a server that has no such page."""
        return ""

    @property
    def label(self) -> str:
        """What people call this very process."""
        return self.name

    @property
    def pid(self) -> int:
        """Process id of the last start.

        Raises:
            RuntimeError: it was never started.
        """
        if self.process is None:
            raise RuntimeError(f"{self.label} was never started")
        return self.process.pid

    async def start(self) -> None:
        """Start and wait until ready; a failed start leaves nothing running.

        Raises:
            LocalError: the program is missing, it ended, or it was not ready in time.
        """
        self.spawn()
        try:
            await self.wait_ready()
        except BaseException:  # a cancelled start must not leave the process behind either
            await self.end()
            raise

    def spawn(self) -> Process:
        """Start without waiting."""
        self.process = spawn(self.launch())
        if self._guard is not None:
            self._guard.watch(self.process.pid)
        return self.process

    async def wait_ready(self) -> None:
        """Wait until ready.

        Raises:
            StartFailed: it ended, or was not ready within `start_seconds`.
        """
        deadline = monotonic() + self.start_seconds
        while not await self.ready():
            if self.process is None or not self.process.alive:
                raise self._failed("the process ended")
            if monotonic() > deadline:
                raise self._failed(f"not ready after {self.start_seconds:.0f} s")
            await asyncio.sleep(POLL_SECONDS)

    def kill(self) -> None:
        """SIGKILL for the process and everything it started."""
        if self.process is not None:
            self.process.kill()

    def sweep(self) -> None:  # noqa: B027 - most leave nothing
        """Remove what a killed server leaves outside its folder."""

    async def stop(self) -> None:
        """End it in good order, by force after `grace_seconds`."""
        if self.process is not None:
            await self.process.stop(self.grace_seconds)
            self.sweep()

    async def end(self) -> None:
        """Kill it and wait until nothing is left of it."""
        if self.process is not None:
            await self.process.killed()
            self.sweep()

    async def restart(self) -> None:
        """Kill what is left of it and start it again, same ports, same data."""
        await self.end()
        await self.start()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Started for the duration of the block, and killed at its end.

        It does not even survive when this interpreter is killed within the block.
        """
        with Guard() as self._guard:
            try:
                await self.start()
                yield self
            finally:
                await self.end()
                self._guard.watch(None)

    def _failed(self, reason: str) -> StartFailed:
        return StartFailed(self.label, reason, self.log, tail(self.log))


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log file; empty where there is none."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    spoken = [line[:TAIL_COLUMNS] for line in text.splitlines() if line.strip()]
    return "\n".join(spoken[-lines:])
