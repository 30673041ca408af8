"""TCP ports on the loopback interface: finding free ones, noticing taken ones."""

import socket
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from graphwright.local.errors import PortTaken

LOOPBACK = "127.0.0.1"


def is_taken(port: int) -> bool:
    """Whether a server could not listen on this port."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        # As servers do, so that connections in TIME_WAIT do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
        return False


def free_ports(count: int) -> list[int]:
    """Distinct ports on which nothing listens."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [int(probe.getsockname()[1]) for probe in probes]


@dataclass(frozen=True)
class PortWish:
    """A port for `name`: the one that `option` asked for, else the usual one."""

    name: str
    option: str
    asked: int | None
    usual: int


def choose(wishes: Sequence[PortWish]) -> dict[str, int]:
    """A port per name. Where none was asked for and the usual one is taken, any free one serves.

    Raises:
        PortTaken: a port was asked for and is in use, or was asked for twice.
    """
    spare = iter(free_ports(len(wishes)))
    chosen: dict[str, int] = {}
    for wish in sorted(wishes, key=lambda wish: wish.asked is None):
        port = wish.usual if wish.asked is None else wish.asked
        if port in chosen.values() or is_taken(port):
            if wish.asked is not None:
                raise PortTaken(wish.option, port)
            port = next(spare)
        chosen[wish.name] = port
    return chosen
