"""Bus messages to bytes and back."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from google.protobuf.message import DecodeError, Message

from graphwright.contracts.v1 import execution_pb2, grading_pb2, search_pb2
from graphwright.converters.execution import (
    decode_batch_executed,
    decode_execute_batch,
    encode_batch_executed,
    encode_execute_batch,
)
from graphwright.converters.fields import InvalidField
from graphwright.converters.grading import decode_batch_graded, encode_batch_graded
from graphwright.converters.search import decode_search_event, encode_search_event
from graphwright.search.messages import BatchExecuted, BatchGraded, ExecuteBatch, RingMessage
from graphwright.search.search import SearchEvent

M = TypeVar("M", bound=RingMessage | SearchEvent)


class UndecodableMessage(ValueError):
    """Bytes that are not a valid message of the expected kind."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"not a valid {kind}: {reason}")
        self.kind = kind
        self.reason = reason


class _Codec(NamedTuple):
    message: type[Message]
    encode: Callable[[Any], Message]
    decode: Callable[[Any], RingMessage | SearchEvent]


_CODECS: dict[type, _Codec] = {
    ExecuteBatch: _Codec(execution_pb2.ExecuteBatch, encode_execute_batch, decode_execute_batch),
    BatchExecuted: _Codec(
        execution_pb2.BatchExecuted, encode_batch_executed, decode_batch_executed
    ),
    BatchGraded: _Codec(grading_pb2.BatchGraded, encode_batch_graded, decode_batch_graded),
    SearchEvent: _Codec(search_pb2.SearchEvent, encode_search_event, decode_search_event),
}


def encode(message: RingMessage | SearchEvent) -> bytes:
    """Serialize a message; equal messages give equal bytes."""
    return _CODECS[type(message)].encode(message).SerializeToString(deterministic=True)


def decode(kind: type[M], data: bytes) -> M:
    """The message of `kind` that `data` holds.

    Raises:
        UndecodableMessage: the bytes are no protobuf message, or its content is invalid.
    """
    codec = _CODECS[kind]
    try:
        return cast("M", codec.decode(codec.message.FromString(data)))
    except (DecodeError, InvalidField) as error:
        raise UndecodableMessage(kind.__name__, str(error)) from error
