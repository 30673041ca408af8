"""Processes that outlive the command that started them.

Each runs in a session of its own, so that all it ever starts can be found and ended with it, and is
known by (pid, identity): a pid alone may belong to a stranger by the time somebody wants to end it.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from pydantic import BaseModel, ConfigDict

POLL_SECONDS = 0.02
KILL_SECONDS = 5.0

# Places in what `_stat` returns.
GROUP, SESSION, START_TIME = 2, 3, 19


@dataclass(frozen=True)
class Launch:
    """What to start: an absolute program path with its arguments, environment and log file."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path


class Process(BaseModel):
    """A started process, possibly started by an earlier command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    pid: int
    identity: str
    log: Path

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        _reap(self.pid)
        return identity(self.pid) == self.identity

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all it started."""
        members = self.members()
        if members:
            # A group gets a signal at one moment, so that no child slips through while it is born.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)
        for pid in members:
            if _field(pid, GROUP) != self.pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def members(self) -> list[int]:
        """The process and whatever is left in its session, even after its own death."""
        _reap(self.pid)
        found = identity(self.pid)
        if found not in {self.identity, None}:
            return []  # the number was given to a stranger, so none of ours is left
        return [pid for pid in _pids() if _field(pid, SESSION) == self.pid]

    def kill(self) -> None:
        """End everything at once (SIGKILL), without waiting."""
        self.signal(signal.SIGKILL)

    async def stop(self, grace: float) -> None:
        """SIGTERM, up to `grace` seconds to leave in good order, then SIGKILL."""
        self.signal(signal.SIGTERM)
        deadline = monotonic() + grace
        while self.members():
            if monotonic() > deadline:
                await self.killed()
                return
            await asyncio.sleep(POLL_SECONDS)

    async def killed(self) -> None:
        """SIGKILL until nothing is left; gives up on what the kernel does not let go in time."""
        deadline = monotonic() + KILL_SECONDS
        while self.members() and monotonic() < deadline:
            self.kill()
            await asyncio.sleep(POLL_SECONDS)


def spawn(launch: Launch) -> Process:
    """Start a program in a session of its own, with both outputs appended to its log.

    Raises:
        OSError: the program cannot be executed or the log cannot be opened.
    """
    launch.log.parent.mkdir(parents=True, exist_ok=True)
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        launch.command[0],
        launch.command,
        dict(launch.environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(launch.log), append, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        # Python ignores SIGPIPE, and a command in the background SIGINT; both would be inherited.
        setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGTERM],
        setsigmask=[],
    )
    return Process(name=launch.name, pid=pid, identity=identity(pid) or "", log=launch.log)


def identity(pid: int) -> str | None:
    """What tells a process from a later one of the same number; None where none runs."""
    fields = _stat(pid)
    if fields is None or fields[0] in {"Z", "X"}:
        return None
    # The start time counts from the boot, and so needs the boot beside it.
    return f"{_boot()}:{fields[START_TIME]}"


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third (the state) on."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return line[line.rindex(")") + 2 :].split()  # the program's name may hold blanks and brackets


def _field(pid: int, index: int) -> int | None:
    """A numeric field of a process that is not dead yet."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in {"Z", "X"} else int(fields[index])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _reap(pid: int) -> None:
    """Let a child of this interpreter that has ended leave the process table."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
