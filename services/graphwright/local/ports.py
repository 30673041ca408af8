"""TCP ports on the loopback interface: finding free ones, noticing taken ones."""

import socket
from contextlib import ExitStack, closing

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


def choose(option: str, asked: int | None, usual: int) -> int:
    """The port asked for; where none was, the usual one or, if that is taken, any free one.

    Raises:
        PortTaken: a port was asked for and is in use.
    """
    if asked is None:
        return free_ports(1)[0] if is_taken(usual) else usual
    if is_taken(asked):
        raise PortTaken(option, asked)
    return asked
