"""Steps that tests of the archive share."""

import asyncio
from collections.abc import Awaitable, Callable

from graphwright.archive.port import Archive, Lease
from graphwright.search.search import Search, SearchProgress, SearchState
from graphwright.search.trial import Trial

Connect = Callable[[], Awaitable[Archive]]

LONG = 600.0
SHORT = 0.2


def advanced(search: Search, iteration: int) -> Search:
    progress = SearchProgress(step="search", iteration=iteration)
    return search.model_copy(update={"state": SearchState.RUNNING, "progress": progress})


async def claim(archive: Archive, owner: str, seconds: float = LONG) -> Lease:
    lease = await archive.claim(owner, seconds)
    assert lease is not None
    return lease


async def claim_eventually(archive: Archive, owner: str) -> Lease:
    async with asyncio.timeout(10):
        while (lease := await archive.claim(owner, LONG)) is None:
            await asyncio.sleep(0.02)
    return lease


async def every_search(archive: Archive, page_size: int = 50) -> list[Search]:
    page = await archive.list_searches(page_size=page_size)
    found = list(page.items)
    while page.next_token:
        page = await archive.list_searches(page_size=page_size, page_token=page.next_token)
        assert 0 < len(page.items) <= page_size
        found += page.items
    return found


async def every_trial(archive: Archive, search_id: str, page_size: int = 100) -> list[Trial]:
    page = await archive.list_trials(search_id, page_size=page_size)
    found = list(page.items)
    while page.next_token:
        token = page.next_token
        page = await archive.list_trials(search_id, page_size=page_size, page_token=token)
        assert 0 < len(page.items) <= page_size
        found += page.items
    return found


async def everything(archive: Archive, search_id: str) -> tuple[object, ...]:
    """All that the archive tells of a search."""
    return (
        await archive.get_search(search_id),
        await archive.session_state(search_id),
        await every_trial(archive, search_id),
        await archive.graded_batches(search_id),
    )


async def warmed_up(connect: Connect, count: int) -> list[Archive]:
    """Archives with ten open connections each: calls over them really meet at the server."""
    archives = [await connect() for _ in range(count)]
    await asyncio.gather(*(archive.ping() for archive in archives * 10))
    return archives
