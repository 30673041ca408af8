"""From the driver's errors to the archive's, and how long an operation took."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pymongo.errors import ConnectionFailure, PyMongoError

from graphwright.archive.port import ArchiveUnavailable
from graphwright.telemetry.metrics import ARCHIVE_OPERATION_SECONDS

P = ParamSpec("P")
T = TypeVar("T")

# What the server says of a failure that another attempt may overcome.
_PASSING = ("RetryableWriteError", "TransientTransactionError", "UnknownTransactionCommitResult")


def operation(
    function: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Measure a method under its name, and raise ArchiveUnavailable where the server is at fault.

    Other driver errors mean a fault of the program or of its configuration and pass unchanged.
    """

    name = function.__name__.strip("_")

    @wraps(function)
    async def measured(*args: P.args, **kwargs: P.kwargs) -> T:
        with ARCHIVE_OPERATION_SECONDS.labels(operation=name).time():
            try:
                return await function(*args, **kwargs)
            except PyMongoError as error:
                if not is_outage(error):
                    raise
                raise ArchiveUnavailable(f"MongoDB does not answer: {error}") from error

    return measured


def is_outage(error: PyMongoError) -> bool:
    """Whether the server was out of reach, too slow, or between two primaries."""
    if isinstance(error, ConnectionFailure) or error.timeout:
        return True
    return any(error.has_error_label(label) for label in _PASSING)
