"""Domain model ⇄ MongoDB document, an explicit pair for each.

Documents are made from `model_dump` and stay queryable: enums are strings, tuples are arrays,
datetimes are native (MongoDB keeps milliseconds). Every document names its `schema_version`.
"""

from collections.abc import Mapping
from typing import Any

from bson.binary import USER_DEFINED_SUBTYPE, Binary

from graphwright.search.messages import BatchGraded
from graphwright.search.search import Search
from graphwright.search.trial import Trial

SCHEMA_VERSION = 1

Document = dict[str, Any]

FREE_LEASE: Document = {"owner": None, "expires": None, "generation": 0}

_INT64 = range(-(2**63), 2**63)


def encode_search(search: Search) -> Document:
    """A search that nobody holds yet."""
    return {
        "_id": search.id,
        "schema_version": SCHEMA_VERSION,
        **search.model_dump(exclude={"id"}),
        "cancel_requested": False,
        "lease": dict(FREE_LEASE),
    }


def encode_advance(search: Search) -> Document:
    """The fields of a search that a checkpoint may change; the others are set once."""
    return search.model_dump(include={"state", "progress", "result", "error", "updated_at"})


def decode_search(document: Mapping[str, Any]) -> Search:
    """Raises pydantic.ValidationError for a document that this archive did not write."""
    fields = {name: document[name] for name in Search.model_fields if name != "id"}
    return Search(id=document["_id"], **fields)


def encode_trial(trial: Trial) -> Document:
    """A unique index on search and trial identifies it: trial ids repeat between searches."""
    return {"schema_version": SCHEMA_VERSION, **trial.model_dump()}


def decode_trial(document: Mapping[str, Any]) -> Trial:
    """Raises pydantic.ValidationError for a document that this archive did not write."""
    return Trial(**{name: document[name] for name in Trial.model_fields})


def encode_graded(batch: BatchGraded) -> Document:
    """A unique index on search and batch identifies it: the attempt graded first counts."""
    return {"schema_version": SCHEMA_VERSION, **batch.model_dump()}


def decode_graded(document: Mapping[str, Any]) -> BatchGraded:
    """Raises pydantic.ValidationError for a document that this archive did not write."""
    return BatchGraded(**{name: document[name] for name in BatchGraded.model_fields})


def encode_state(search_id: str, state: Mapping[str, Any]) -> Document:
    """A session's state: JSON values, integers of any size (random generators hold 128 bits)."""
    return {"_id": search_id, "schema_version": SCHEMA_VERSION, "state": _stored(dict(state))}


def decode_state(document: Mapping[str, Any]) -> dict[str, Any]:
    """The state as it was given, tuples become lists."""
    state: dict[str, Any] = _restored(document["state"])
    return state


def _stored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _stored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_stored(item) for item in value]
    if isinstance(value, int) and value not in _INT64:
        size = value.bit_length() // 8 + 1
        return Binary(value.to_bytes(size, "big", signed=True), USER_DEFINED_SUBTYPE)
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, Binary):
        return int.from_bytes(value, "big", signed=True)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)  # the driver's 64-bit integers are a subclass
    return value
