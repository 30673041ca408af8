"""From domain errors to gRPC status codes, in one place."""

from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from time import perf_counter
from typing import Any, NoReturn, TypeVar

import grpc
import structlog

from graphwright.archive.port import ArchiveUnavailable, InvalidPageToken, SearchNotFound
from graphwright.bus.port import BusUnavailable
from graphwright.converters.fields import InvalidField
from graphwright.telemetry import metrics

Request = TypeVar("Request")
Response = TypeVar("Response")
Context = grpc.aio.ServicerContext[Any, Any]

log = structlog.get_logger()


def unary(
    method: Callable[[Any, Request, Context], Coroutine[Any, Any, Response]],
) -> Callable[[Any, Request, Context], Coroutine[Any, Any, Response]]:
    """Count a unary method and abort with the status that its error stands for."""

    @wraps(method)
    async def guarded(self: Any, request: Request, context: Context) -> Response:
        started = perf_counter()
        try:
            response = await method(self, request, context)
        except Exception as error:
            await _abort(method.__name__, context, error)
        metrics.RPC_SECONDS.labels(method.__name__).observe(perf_counter() - started)
        metrics.RPC_REQUESTS.labels(method.__name__, "OK").inc()
        return response

    return guarded


def streaming(
    method: Callable[[Any, Request, Context], AsyncIterator[Response]],
) -> Callable[[Any, Request, Context], AsyncIterator[Response]]:
    """Count a server-streaming method and abort with the status that its error stands for."""

    @wraps(method)
    async def guarded(self: Any, request: Request, context: Context) -> AsyncIterator[Response]:
        try:
            async for response in method(self, request, context):
                yield response
        except Exception as error:
            await _abort(method.__name__, context, error)
        metrics.RPC_REQUESTS.labels(method.__name__, "OK").inc()

    return guarded


async def _abort(method: str, context: Context, error: Exception) -> NoReturn:
    code, text = _status(error)
    metrics.RPC_REQUESTS.labels(method, code.name).inc()
    if code is grpc.StatusCode.INTERNAL:
        log.error("rpc_failed", method=method, exc_info=error)
    await context.abort(code, text)


def _status(error: Exception) -> tuple[grpc.StatusCode, str]:
    match error:
        case InvalidField():
            return grpc.StatusCode.INVALID_ARGUMENT, str(error)
        case InvalidPageToken():
            return grpc.StatusCode.INVALID_ARGUMENT, f"page_token: {error}"
        case SearchNotFound():
            return grpc.StatusCode.NOT_FOUND, str(error)
        case ArchiveUnavailable() | BusUnavailable():
            return grpc.StatusCode.UNAVAILABLE, str(error)
        case _:
            return grpc.StatusCode.INTERNAL, "internal error; the planner's log has the details"
