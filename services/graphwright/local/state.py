"""What a stack leaves on disk so that a later command can find and end it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from graphwright.local.errors import StackBusy
from graphwright.local.processes import Process


class Member(BaseModel):
    """A process of the stack; `ready_url` answers 200 while it serves, empty if it cannot tell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    process: Process
    ready_url: str = ""
    grace_seconds: float = 10.0
    service: bool = False


class StackState(BaseModel):
    """The processes in the order of their start, and the addresses to reach them at.

    `urls` has NATS_URL, MONGODB_URI, TRITON_URL and GRAPHWRIGHT_URL (the planner's gRPC address).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    urls: dict[str, str]
    ports: dict[str, int]
    members: tuple[Member, ...] = ()
    complete: bool = False

    @property
    def alive(self) -> bool:
        """Whether the start was completed and every process still runs."""
        return self.complete and all(member.process.alive for member in self.members)


def state_file(home: Path) -> Path:
    """Where the state of the stack in this folder is kept."""
    return home / "stack.json"


def load(home: Path) -> StackState | None:
    """The recorded state; None where there is none, or none that this release can read."""
    try:
        return StackState.model_validate_json(state_file(home).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def save(home: Path, state: StackState) -> None:
    """Record the state; a reader sees the old one or the new one, never half of it."""
    partial = state_file(home).with_suffix(".partial")
    partial.touch(mode=0o600)  # a URL may hold a password
    partial.write_text(state.model_dump_json(indent=2) + "\n")
    partial.replace(state_file(home))


def forget(home: Path) -> None:
    """Remove the record."""
    state_file(home).unlink(missing_ok=True)


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the folder against other commands; released even if this one is killed.

    Raises:
        StackBusy: another command holds it.
    """
    home.mkdir(parents=True, exist_ok=True)
    handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StackBusy(home) from None
    finally:
        os.close(handle)
