"""Logging: one JSON object a line on stdout, with the ids of the work at hand.

Own code logs through `structlog.get_logger()` with an event name and fields; libraries that use
the standard library's logging come out in the same shape.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

LEVELS = ("debug", "info", "warning", "error", "critical")


class UnknownLogLevel(ValueError):
    """The log level is none of `LEVELS`."""

    def __init__(self, level: str) -> None:
        super().__init__(f"unknown log level {level!r}; choose one of {', '.join(LEVELS)}")
        self.level = level


def configure(service: str, level: str = "info") -> None:
    """Send every log line of the process to stdout as JSON naming its service.

    Fields: `timestamp` (ISO 8601, UTC), `level`, `service`, `logger`, `event`, `exception` where
    there is one, the bound ids and what the caller adds.

    Raises:
        UnknownLogLevel: `level` is none of `LEVELS` (case does not matter).
    """
    if level.lower() not in LEVELS:
        raise UnknownLogLevel(level)
    shared = _shared_processors(service)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_formatter(shared))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


@contextmanager
def bound(
    *, search_id: str | None = None, batch_id: str | None = None, trial_id: str | None = None
) -> Iterator[None]:
    """Add ids to every line logged within, in this task and in those it starts."""
    ids = {"search_id": search_id, "batch_id": batch_id, "trial_id": trial_id}
    with bound_contextvars(**{name: value for name, value in ids.items() if value is not None}):
        yield


def _shared_processors(service: str) -> list[Processor]:
    def name_service(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["service"] = service
        return event

    return [
        merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        structlog.processors.UnicodeDecoder(),
        name_service,
    ]


def _formatter(shared: list[Processor]) -> ProcessorFormatter:
    return ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(default=str),
        ],
    )
