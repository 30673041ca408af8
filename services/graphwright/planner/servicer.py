"""SearchService: the gRPC front door. It stores searches and reads them; sessions do the work."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import uuid4

from graphwright.archive.port import Archive
from graphwright.bus.port import Bus
from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.contracts.v1 import search_pb2_grpc
from graphwright.converters.fields import InvalidField
from graphwright.converters.requests import decode_state_filter, decode_submit_search_request
from graphwright.converters.search import encode_search, encode_search_event
from graphwright.converters.trial import encode_trial
from graphwright.planner.admission import admit
from graphwright.planner.faults import Context, streaming, unary
from graphwright.search.search import Search, SearchEvent

MAX_PAGE_SIZE = 1000
MAX_TRIALS = 100
"""Trials carry their outcomes on every question: a page must stay below gRPC's 4 MiB."""

SNAPSHOT_SECONDS = 2.0
"""How often a watcher looks into the archive: events are best effort, the archive is the truth."""


class SearchServicer(search_pb2_grpc.SearchServiceServicer):
    """Implements every method of SearchService."""

    def __init__(self, archive: Archive, bus: Bus) -> None:
        self._archive = archive
        self._bus = bus

    @unary
    async def SubmitSearch(
        self, request: pb.SubmitSearchRequest, context: Context
    ) -> pb.SubmitSearchResponse:
        """Check and store a search; the planners' claim loops take it up."""
        request_id, spec = decode_submit_search_request(request)
        await asyncio.to_thread(admit, spec)
        moment = datetime.now(UTC)
        search = Search(
            id=uuid4().hex[:16],
            request_id=request_id,
            spec=spec,
            created_at=moment,
            updated_at=moment,
        )
        stored = await self._archive.create_search(search)
        if stored.spec != spec:
            raise InvalidField("request_id", "was used before for a different search")
        return pb.SubmitSearchResponse(search=encode_search(stored))

    @unary
    async def GetSearch(
        self, request: pb.GetSearchRequest, context: Context
    ) -> pb.GetSearchResponse:
        """Read one search."""
        search = await self._archive.get_search(request.search_id)
        return pb.GetSearchResponse(search=encode_search(search))

    @unary
    async def ListSearches(
        self, request: pb.ListSearchesRequest, context: Context
    ) -> pb.ListSearchesResponse:
        """Read a page of searches."""
        page = await self._archive.list_searches(
            state=decode_state_filter(request),
            page_size=_page_size(request, default=50),
            page_token=request.page_token,
        )
        searches = [encode_search(search) for search in page.items]
        return pb.ListSearchesResponse(searches=searches, next_page_token=page.next_token)

    @unary
    async def CancelSearch(
        self, request: pb.CancelSearchRequest, context: Context
    ) -> pb.CancelSearchResponse:
        """Ask for the end of a search."""
        search = await self._archive.cancel_search(request.search_id)
        return pb.CancelSearchResponse(search=encode_search(search))

    @unary
    async def ListTrials(
        self, request: pb.ListTrialsRequest, context: Context
    ) -> pb.ListTrialsResponse:
        """Read a page of trials."""
        page = await self._archive.list_trials(
            request.search_id,
            page_size=_page_size(request, default=50, most=MAX_TRIALS),
            page_token=request.page_token,
        )
        trials = [encode_trial(trial) for trial in page.items]
        return pb.ListTrialsResponse(trials=trials, next_page_token=page.next_token)

    @streaming
    async def WatchSearch(
        self, request: pb.WatchSearchRequest, context: Context
    ) -> AsyncIterator[pb.WatchSearchResponse]:
        """Stream a snapshot, then what happens, until the search ends."""
        async for event in self._watch(request.search_id):
            yield pb.WatchSearchResponse(event=encode_search_event(event))

    async def _watch(self, search_id: str) -> AsyncIterator[SearchEvent]:
        await self._archive.get_search(search_id)
        # Listening begins before the snapshot is taken, so that nothing falls in between.
        async with self._bus.events(search_id) as events:
            event = await self._snapshot(search_id)
            yield event
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while not event.state.ended:
                    await asyncio.wait([coming], timeout=SNAPSHOT_SECONDS)
                    announced = coming.result() if coming.done() else None
                    if coming.done():
                        coming = asyncio.ensure_future(anext(events, None))
                    news = announced or await self._snapshot(search_id)
                    if news.sequence > event.sequence or news.state != event.state:
                        event = news
                        yield event
            finally:
                coming.cancel()

    async def _snapshot(self, search_id: str) -> SearchEvent:
        search = await self._archive.get_search(search_id)
        saved = await self._archive.session_state(search_id) or {}
        return SearchEvent(
            search_id=search_id,
            sequence=saved.get("events", 0),
            state=search.state,
            progress=search.progress,
            message=search.error,
        )


def _page_size(
    request: pb.ListSearchesRequest | pb.ListTrialsRequest,
    *,
    default: int,
    most: int = MAX_PAGE_SIZE,
) -> int:
    if not request.HasField("page_size"):
        return default
    if not 1 <= request.page_size <= most:
        raise InvalidField("page_size", f"must be from 1 to {most}")
    return request.page_size
