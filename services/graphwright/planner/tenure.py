"""A planner's tenure of one search: hold the lease, run the session, record how it ended."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog

from graphwright.archive.port import Archive, ArchiveError, ArchiveUnavailable, Lease, LeaseLost
from graphwright.bus.port import Bus, BusUnavailable
from graphwright.search.search import Search, SearchEvent, SearchState
from graphwright.telemetry import metrics

RENEWALS_PER_LEASE = 3

log = structlog.get_logger()


class CancelRequested(Exception):
    """A client asked for the search to end."""


class Tenure:
    """Runs `session(search, lease)` for a claimed search.

    However it ends, the lease is given up: with the search ended (succeeded, failed, cancelled), or
    as it stands, for another planner to go on with.
    """

    def __init__(
        self,
        archive: Archive,
        bus: Bus,
        lease: Lease,
        session: Callable[[Search, Lease], Awaitable[None]],
        *,
        lease_seconds: float,
    ) -> None:
        self._archive = archive
        self._bus = bus
        self._lease = lease
        self._session = session
        self._lease_seconds = lease_seconds

    async def run(self) -> None:
        """Hold the search until it ends, the lease is lost, or the task is cancelled."""
        with structlog.contextvars.bound_contextvars(search_id=self._lease.search_id):
            try:
                await self._conclude(await self._hold())
            except LeaseLost:
                metrics.LEASES_LOST.inc()
                log.warning("lease_lost")
            except (ArchiveUnavailable, BusUnavailable) as error:
                log.warning("search_interrupted", reason=str(error))
                await self._release()
            except asyncio.CancelledError:
                await self._release()
                raise

    async def _hold(self) -> BaseException | None:
        """Run the session under a renewed lease; what stopped it, or None if it came to its end."""
        search = await self._archive.get_search(self._lease.search_id)
        running = search.model_copy(update={"state": SearchState.RUNNING})
        try:
            async with asyncio.TaskGroup() as group:
                heartbeat = group.create_task(self._heartbeat())
                await self._session(running, self._lease)
                heartbeat.cancel()
        except BaseExceptionGroup as faults:
            return _first(faults)
        return None

    async def _heartbeat(self) -> None:
        while True:
            try:
                cancel_requested = await self._archive.renew(self._lease, self._lease_seconds)
            except LeaseLost:
                # The session's last checkpoint ends the search, and with it the lease.
                search = await self._archive.get_search(self._lease.search_id)
                if search.state.ended:
                    return
                raise
            if cancel_requested:
                raise CancelRequested
            await asyncio.sleep(self._lease_seconds / RENEWALS_PER_LEASE)

    async def _conclude(self, fault: BaseException | None) -> None:
        match fault:
            case None:
                await self._settle(SearchState.SUCCEEDED)
            case CancelRequested():
                await self._end(SearchState.CANCELLED, "")
            case ArchiveError() | BusUnavailable():
                raise fault
            case _:
                log.error("search_failed", exc_info=fault)
                await self._end(SearchState.FAILED, str(fault) or type(fault).__name__)

    async def _end(self, state: SearchState, error: str) -> None:
        search = await self._archive.get_search(self._lease.search_id)
        ended = search.model_copy(
            update={"state": state, "error": error, "updated_at": datetime.now(UTC)}
        )
        saved = dict(await self._archive.session_state(search.id) or {})
        await self._archive.checkpoint(self._lease, ended, state=saved)
        await self._bus.announce(
            SearchEvent(
                search_id=search.id,
                sequence=saved.get("events", 0) + 1,
                state=state,
                progress=search.progress,
                message=error,
            )
        )
        await self._settle(state)

    async def _settle(self, state: SearchState) -> None:
        metrics.SEARCHES.labels(state).inc()
        log.info("search_ended", state=str(state))
        await self._bus.forget(self._lease.search_id)

    async def _release(self) -> None:
        try:
            await self._archive.release(self._lease)
        except ArchiveError as error:
            # The lease runs out by itself.
            log.warning("release_failed", reason=str(error))


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first plain exception of a nested group."""
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
