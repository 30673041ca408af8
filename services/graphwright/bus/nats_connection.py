"""The connection to NATS: one that never gives up, and what its faults mean to the port."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import structlog
from nats.aio.client import Client
from nats.errors import Error

from graphwright.bus.port import BusUnavailable

CLOSE_SECONDS = 5

log = structlog.get_logger()


async def open_connection(
    connection: Client,
    servers: Sequence[str],
    name: str,
    reconnected: Callable[[], Awaitable[None]],
) -> None:
    """Connect to one of `servers`; waits for one for as long as the caller lets it."""
    await connection.connect(
        list(servers),
        name=name or None,
        # Closing for good after a while would need a restart to recover from.
        max_reconnect_attempts=-1,
        reconnect_time_wait=1,
        ping_interval=10,
        # Room for one large message and some acknowledgements while reconnecting.
        pending_size=16 * 1024 * 1024,
        drain_timeout=CLOSE_SECONDS,
        error_cb=_log_fault,
        reconnected_cb=reconnected,
    )


async def close_connection(connection: Client) -> None:
    """Send what is pending and disconnect; takes a few seconds at most."""
    for end in (connection.drain, connection.close):
        with suppress(Error, TimeoutError, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await end()


@contextmanager
def unavailable(what: str) -> Iterator[None]:
    """Turn faults of the connection or of the server into BusUnavailable."""
    try:
        yield
    except (Error, TimeoutError, OSError) as error:
        reason = str(error) or type(error).__name__
        raise BusUnavailable(f"{what} did not answer as needed: {reason}") from error


async def _log_fault(error: Exception) -> None:
    log.warning("bus_connection_fault", reason=str(error) or type(error).__name__)
