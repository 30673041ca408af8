"""A client of SearchService that speaks the domain's words."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, cast

import grpc

from graphwright.contracts.v1 import search_pb2 as pb
from graphwright.contracts.v1 import search_pb2_grpc
from graphwright.converters.requests import encode_submit_search_request
from graphwright.converters.search import decode_search, decode_search_event
from graphwright.converters.trial import decode_trial
from graphwright.search.search import Search, SearchEvent
from graphwright.search.spec import SearchSpec
from graphwright.search.trial import Trial

RPC_SECONDS = 20.0
KEEPALIVE = (
    # A planner whose machine vanished is noticed within half a minute.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
)


class SearchClient:
    """Every method raises grpc.RpcError as the server or the channel reports it."""

    def __init__(self, url: str) -> None:
        self._channel = grpc.insecure_channel(url, options=KEEPALIVE)
        # The generated types know asynchronous channels only.
        self._stub: Any = search_pb2_grpc.SearchServiceStub(cast(Any, self._channel))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.close()

    def submit(self, request_id: str, spec: SearchSpec) -> Search:
        """Start a search, or find the one that this request id started."""
        request = encode_submit_search_request(request_id, spec)
        return decode_search(self._stub.SubmitSearch(request, timeout=RPC_SECONDS).search)

    def get(self, search_id: str) -> Search:
        """One search."""
        request = pb.GetSearchRequest(search_id=search_id)
        return decode_search(self._stub.GetSearch(request, timeout=RPC_SECONDS).search)

    def cancel(self, search_id: str) -> Search:
        """Ask for the end of a search."""
        request = pb.CancelSearchRequest(search_id=search_id)
        return decode_search(self._stub.CancelSearch(request, timeout=RPC_SECONDS).search)

    def searches(self) -> Iterator[Search]:
        """All searches, the youngest first."""
        token = ""
        while True:
            request = pb.ListSearchesRequest(page_token=token)
            page = self._stub.ListSearches(request, timeout=RPC_SECONDS)
            yield from map(decode_search, page.searches)
            token = page.next_page_token
            if not token:
                return

    def trials(self, search_id: str) -> Iterator[Trial]:
        """All trials of a search, in the order of their proposal."""
        token = ""
        while True:
            request = pb.ListTrialsRequest(search_id=search_id, page_token=token)
            page = self._stub.ListTrials(request, timeout=RPC_SECONDS)
            yield from map(decode_trial, page.trials)
            token = page.next_page_token
            if not token:
                return

    def watch(self, search_id: str) -> Iterator[SearchEvent]:
        """A snapshot, then events until the search ends."""
        for response in self._stub.WatchSearch(pb.WatchSearchRequest(search_id=search_id)):
            yield decode_search_event(response.event)
