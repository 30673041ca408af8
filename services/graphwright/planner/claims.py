"""Claiming searches: a planner takes what nobody holds, as much as it may advance at once."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from graphwright.archive.port import Archive, ArchiveUnavailable, Lease
from graphwright.planner.tenure import Tenure
from graphwright.telemetry import metrics

log = structlog.get_logger()


class Claims:
    """Polls the archive and runs a tenure for each search claimed, until cancelled."""

    def __init__(
        self,
        archive: Archive,
        owner: str,
        tenure: Callable[[Lease], Tenure],
        *,
        searches: int,
        lease_seconds: float,
        poll_seconds: float,
    ) -> None:
        self._archive = archive
        self._owner = owner
        self._tenure = tenure
        self._searches = searches
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        self._held: set[asyncio.Task[None]] = set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Claim and advance searches; on `stopping`, give all of them back."""
        while not stopping.is_set():
            if not await self._claim_one():
                await _wait(stopping, self._poll_seconds)
        for task in self._held:
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)

    async def _claim_one(self) -> bool:
        """Whether a search was taken up."""
        if len(self._held) >= self._searches:
            return False
        try:
            lease = await self._archive.claim(self._owner, self._lease_seconds)
        except ArchiveUnavailable as error:
            log.warning("claim_failed", reason=str(error))
            return False
        if lease is None:
            return False
        task = asyncio.create_task(self._tenure(lease).run())
        self._held.add(task)
        metrics.SEARCHES_RUNNING.set(len(self._held))
        task.add_done_callback(self._let_go)
        return True

    def _let_go(self, task: asyncio.Task[None]) -> None:
        self._held.discard(task)
        metrics.SEARCHES_RUNNING.set(len(self._held))
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("tenure_failed", exc_info=error)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
