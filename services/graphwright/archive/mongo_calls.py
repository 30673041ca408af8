"""The call cache in MongoDB: bounded by age and count, and never in its callers' way.

Losing an entry costs one call, so writes are acknowledged by one server only and every error ends
here: a look-up finds nothing, a store keeps nothing, a counter and the log tell. After an error
the cache rests, so that a database that is down does not slow each call by a time limit.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from bson.errors import BSONError
from pydantic import ValidationError
from pymongo import ASCENDING, AsyncMongoClient
from pymongo.errors import BulkWriteError, OperationFailure, PyMongoError
from pymongo.write_concern import WriteConcern

from graphwright.archive.mongo_documents import Document
from graphwright.archive.port import CallCache
from graphwright.search.calls import Completion
from graphwright.telemetry.metrics import CALL_CACHE_ERRORS

MAX_DOCUMENTS = 1_000_000
TIME_TO_LIVE = timedelta(days=7)
TIMEOUT_SECONDS = 2.0
REST_SECONDS = 5.0

_DUPLICATE_KEY = 11000
_INDEX_OPTIONS_CONFLICT = 85
_TRIM_STEP = 10_000

# An answer that cannot be encoded (a lone surrogate, say) is no reason to lose the call either.
_ERRORS = (PyMongoError, BSONError, UnicodeError, OverflowError)

_log = structlog.get_logger(__name__)


class MongoCallCache(CallCache):
    """Call cache in the collection `calls`; `_id` is the call key.

    Entries expire after `time_to_live`. Of more than `max_documents` entries the oldest are
    deleted; the count is looked at once per `max_documents` / 100 stores of this process, so the
    collection may exceed its bound by 1 % per process that stores. After an error of the database
    it is left alone for `rest_seconds`.
    """

    def __init__(
        self,
        client: AsyncMongoClient[Document],
        database: str,
        *,
        max_documents: int = MAX_DOCUMENTS,
        time_to_live: timedelta = TIME_TO_LIVE,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        self._client = client
        self._calls = client[database].get_collection("calls", write_concern=WriteConcern(w=1))
        self._max_documents = max_documents
        self._time_to_live = time_to_live
        self._rest_seconds = rest_seconds
        self._indexed = False
        self._stored_since_trim = 0
        self._resting_until = 0.0

    @classmethod
    async def connect(
        cls,
        uri: str,
        database: str = "graphwright",
        *,
        max_documents: int = MAX_DOCUMENTS,
        time_to_live: timedelta = TIME_TO_LIVE,
        rest_seconds: float = REST_SECONDS,
    ) -> "MongoCallCache":
        """Connect; a database out of reach is no error, the cache waits for it."""
        client: AsyncMongoClient[Document] = AsyncMongoClient(
            uri,
            tz_aware=True,
            serverSelectionTimeoutMS=round(TIMEOUT_SECONDS * 1000),
            timeoutMS=round(TIMEOUT_SECONDS * 1000),
            appname="graphwright-calls",
        )
        return cls(
            client,
            database,
            max_documents=max_documents,
            time_to_live=time_to_live,
            rest_seconds=rest_seconds,
        )

    async def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        if not keys or self._resting:
            return {}
        try:
            # One reply for all keys: the default first reply holds 101 documents only.
            cursor = self._calls.find({"_id": {"$in": list(keys)}}, batch_size=len(keys) + 1)
            rows = await cursor.to_list()
        except _ERRORS as error:
            self._give_up("find", error)
            return {}
        return dict(decoded for row in rows if (decoded := _decode(row)) is not None)

    async def store(self, completions: Mapping[str, Completion]) -> None:
        if not completions or self._resting:
            return
        try:
            await self._ensure_index()
            await self._insert([_encode(key, call) for key, call in completions.items()])
            await self._trim_sometimes(len(completions))
        except _ERRORS as error:
            self._give_up("store", error)

    async def close(self) -> None:
        """Disconnect."""
        await self._client.close()

    async def _ensure_index(self) -> None:
        if self._indexed:
            return
        seconds = round(self._time_to_live.total_seconds())
        try:
            await self._calls.create_index([("created_at", ASCENDING)], expireAfterSeconds=seconds)
        except OperationFailure as error:
            if error.code != _INDEX_OPTIONS_CONFLICT:
                raise
            # The index is there with another time to live: change it, keep the entries.
            index = {"keyPattern": {"created_at": ASCENDING}, "expireAfterSeconds": seconds}
            await self._calls.database.command("collMod", self._calls.name, index=index)
        self._indexed = True

    async def _insert(self, documents: list[Document]) -> None:
        try:
            await self._calls.insert_many(documents, ordered=False)
        except BulkWriteError as error:
            failures: list[dict[str, Any]] = (error.details or {}).get("writeErrors", [])
            if any(failure.get("code") != _DUPLICATE_KEY for failure in failures):
                raise

    async def _trim_sometimes(self, stored: int) -> None:
        self._stored_since_trim += stored
        if self._stored_since_trim * 100 < self._max_documents:
            return
        excess = await self._calls.estimated_document_count() - self._max_documents
        if excess > 0:
            # One step at a time, so that no store waits for a long clean-up.
            oldest = self._calls.find({}, projection=["_id"]).sort("created_at", ASCENDING)
            rows = await oldest.limit(min(excess, _TRIM_STEP)).to_list()
            await self._calls.delete_many({"_id": {"$in": [row["_id"] for row in rows]}})
        if excess <= _TRIM_STEP:
            self._stored_since_trim = 0

    @property
    def _resting(self) -> bool:
        return asyncio.get_running_loop().time() < self._resting_until

    def _give_up(self, operation: str, error: Exception) -> None:
        if isinstance(error, PyMongoError):
            self._resting_until = asyncio.get_running_loop().time() + self._rest_seconds
        CALL_CACHE_ERRORS.inc()
        _log.warning("call_cache_failed", operation=operation, error=str(error))


def _encode(key: str, completion: Completion) -> Document:
    return {"_id": key, "created_at": datetime.now(UTC), **completion.model_dump()}


def _decode(row: Document) -> tuple[str, Completion] | None:
    """None for an entry that another version of this program left behind."""
    fields = {name: value for name, value in row.items() if name not in ("_id", "created_at")}
    try:
        return row["_id"], Completion(**fields)
    except ValidationError:
        return None
