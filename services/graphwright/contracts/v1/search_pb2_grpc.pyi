"""Types of the gRPC stubs, for grpc.aio."""

from collections.abc import AsyncIterator

import grpc
import grpc.aio

from graphwright.contracts.v1 import search_pb2 as pb

class SearchServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    SubmitSearch: grpc.aio.UnaryUnaryMultiCallable[pb.SubmitSearchRequest, pb.SubmitSearchResponse]
    GetSearch: grpc.aio.UnaryUnaryMultiCallable[pb.GetSearchRequest, pb.GetSearchResponse]
    ListSearches: grpc.aio.UnaryUnaryMultiCallable[pb.ListSearchesRequest, pb.ListSearchesResponse]
    WatchSearch: grpc.aio.UnaryStreamMultiCallable[pb.WatchSearchRequest, pb.WatchSearchResponse]
    CancelSearch: grpc.aio.UnaryUnaryMultiCallable[pb.CancelSearchRequest, pb.CancelSearchResponse]
    ListTrials: grpc.aio.UnaryUnaryMultiCallable[pb.ListTrialsRequest, pb.ListTrialsResponse]

class SearchServiceServicer:
    async def SubmitSearch(
        self, request: pb.SubmitSearchRequest,
        context: grpc.aio.ServicerContext[pb.SubmitSearchRequest, pb.SubmitSearchResponse],
    ) -> pb.SubmitSearchResponse: ...
    async def GetSearch(
        self, request: pb.GetSearchRequest,
        context: grpc.aio.ServicerContext[pb.GetSearchRequest, pb.GetSearchResponse],
    ) -> pb.GetSearchResponse: ...
    async def ListSearches(
        self, request: pb.ListSearchesRequest,
        context: grpc.aio.ServicerContext[pb.ListSearchesRequest, pb.ListSearchesResponse],
    ) -> pb.ListSearchesResponse: ...
    def WatchSearch(
        self, request: pb.WatchSearchRequest,
        context: grpc.aio.ServicerContext[pb.WatchSearchRequest, pb.WatchSearchResponse],
    ) -> AsyncIterator[pb.WatchSearchResponse]: ...
    async def CancelSearch(
        self, request: pb.CancelSearchRequest,
        context: grpc.aio.ServicerContext[pb.CancelSearchRequest, pb.CancelSearchResponse],
    ) -> pb.CancelSearchResponse: ...
    async def ListTrials(
        self, request: pb.ListTrialsRequest,
        context: grpc.aio.ServicerContext[pb.ListTrialsRequest, pb.ListTrialsResponse],
    ) -> pb.ListTrialsResponse: ...

def add_SearchServiceServicer_to_server(servicer: SearchServiceServicer, server: grpc.aio.Server) -> None: ...
