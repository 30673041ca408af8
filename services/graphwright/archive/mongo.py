"""The archive in MongoDB: write concern majority and journaled, reads of majority-committed data.

What MongoDB has acknowledged survives the loss of any minority of its servers. The deployment
must be a replica set (one member will do), because checkpoints are transactions.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

import pymongo
from pymongo import ASCENDING, DESCENDING, AsyncMongoClient, ReturnDocument, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import DuplicateKeyError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from graphwright.archive import mongo_leases as leases
from graphwright.archive.mongo_documents import (
    Document,
    decode_graded,
    decode_search,
    decode_state,
    decode_trial,
    encode_advance,
    encode_graded,
    encode_search,
    encode_state,
    encode_trial,
)
from graphwright.archive.mongo_errors import operation
from graphwright.archive.mongo_schema import prepare
from graphwright.archive.page_tokens import decode_token, encode_token, invalid_token
from graphwright.archive.port import Archive, Lease, LeaseLost, Page, SearchNotFound
from graphwright.search.messages import BatchGraded
from graphwright.search.search import Search, SearchState
from graphwright.search.trial import Trial

DURABLE = WriteConcern(w="majority", j=True)
MAX_PAGE_SIZE = 1000


class MongoArchive(Archive):
    """Archive on one MongoDB database. Use `connect`; every method may raise ArchiveUnavailable."""

    def __init__(
        self, client: AsyncMongoClient[Document], database: str, *, timeout_seconds: float
    ) -> None:
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._database = client.get_database(
            database, write_concern=DURABLE, read_concern=ReadConcern("majority")
        )
        self._searches = self._database["searches"]
        self._trials = self._database["trials"]
        self._graded = self._database["graded"]
        self._sessions = self._database["sessions"]

    @classmethod
    async def connect(
        cls, uri: str, database: str = "graphwright", *, timeout_seconds: float = 20.0
    ) -> Self:
        """Connect and create what is missing in the database.

        `timeout_seconds` bounds every later operation with its retries.

        Raises:
            ArchiveUnavailable: no primary was found within five seconds.
            SchemaTooNew: the database was written by a newer version of this program.
        """
        client: AsyncMongoClient[Document] = AsyncMongoClient(
            uri,
            tz_aware=True,
            tzinfo=UTC,
            serverSelectionTimeoutMS=5000,
            timeoutMS=round(timeout_seconds * 1000),
            appname="graphwright-archive",
        )
        archive = cls(client, database, timeout_seconds=timeout_seconds)
        try:
            await archive._prepare()
        except BaseException:
            await client.close()
            raise
        return archive

    @operation
    async def _prepare(self) -> None:
        await prepare(self._database)

    @operation
    async def create_search(self, search: Search) -> Search:
        try:
            return await self._create_or_find(search)
        except DuplicateKeyError:
            # A concurrent call with this request id came first: what it stored is there.
            return await self._create_or_find(search)

    async def _create_or_find(self, search: Search) -> Search:
        stored: Any = await self._searches.find_one_and_update(
            {"request_id": search.request_id},
            {"$setOnInsert": encode_search(search)},
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return decode_search(stored)

    @operation
    async def get_search(self, search_id: str) -> Search:
        document = await self._searches.find_one({"_id": search_id})
        if document is None:
            raise SearchNotFound(search_id)
        return decode_search(document)

    @operation
    async def list_searches(
        self, *, state: SearchState | None = None, page_size: int = 50, page_token: str = ""
    ) -> Page[Search]:
        listing = f"searches:{state or ''}"
        query: Document = {} if state is None else {"state": state.value}
        if page_token:
            query["$or"] = _older_than(listing, page_token)
        size = _page_size(page_size)
        cursor = self._searches.find(query).limit(size + 1)
        rows = await cursor.sort([("created_at", DESCENDING), ("_id", DESCENDING)]).to_list()
        items = [decode_search(row) for row in rows[:size]]
        if len(rows) <= size:
            return Page(items, "")
        last = items[-1]
        return Page(items, encode_token(listing, [last.created_at.isoformat(), last.id]))

    @operation
    async def cancel_search(self, search_id: str) -> Search:
        document = await self._searches.find_one_and_update(
            leases.cancellable(search_id),
            leases.cancellation(),
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            return await self.get_search(search_id)
        return decode_search(document)

    @operation
    async def claim(self, owner: str, lease_seconds: float) -> Lease | None:
        document = await self._searches.find_one_and_update(
            leases.claimable(),
            leases.claim(owner, lease_seconds),
            sort=[("created_at", ASCENDING), ("_id", ASCENDING)],
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            return None
        return Lease(document["_id"], owner, int(document["lease"]["generation"]))

    @operation
    async def renew(self, lease: Lease, lease_seconds: float) -> bool:
        document = await self._searches.find_one_and_update(
            leases.renewable(lease),
            leases.renewal(lease_seconds),
            projection=["cancel_requested"],
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            raise LeaseLost(lease.search_id)
        return bool(document["cancel_requested"])

    @operation
    async def release(self, lease: Lease) -> None:
        await self._searches.update_one(leases.held(lease), {"$set": leases.given_back()})

    @operation
    async def checkpoint(
        self,
        lease: Lease,
        search: Search,
        *,
        state: Mapping[str, Any],
        trials: Sequence[Trial] = (),
        keep_graded: bool = False,
    ) -> None:
        changes = encode_advance(search) | (leases.given_back() if search.state.ended else {})
        session_state = encode_state(lease.search_id, state)
        first_ones_stay = [
            UpdateOne(*_once(encode_trial(trial), "id"), upsert=True) for trial in trials
        ]

        async def write(session: AsyncClientSession) -> None:
            await self._sessions.replace_one(
                {"_id": lease.search_id}, session_state, upsert=True, session=session
            )
            if first_ones_stay:
                await self._trials.bulk_write(first_ones_stay, ordered=False, session=session)
            if not keep_graded:
                await self._graded.delete_many({"search_id": lease.search_id}, session=session)
            # The search comes last: while a transaction has written it, claims of it must wait,
            # and a planner that dies here leaves its transaction open for up to a minute.
            fenced = await self._searches.update_one(
                leases.held(lease), {"$set": changes}, session=session
            )
            if not fenced.matched_count:
                raise LeaseLost(lease.search_id)

        # Without a deadline of its own with_transaction would repeat itself for two minutes.
        with pymongo.timeout(self._timeout_seconds):
            await self._in_transaction(write)

    async def _in_transaction(self, write: Callable[[AsyncClientSession], Awaitable[None]]) -> None:
        async with self._client.start_session() as session:
            await session.with_transaction(
                write, read_concern=ReadConcern("snapshot"), write_concern=DURABLE
            )

    @operation
    async def session_state(self, search_id: str) -> Mapping[str, Any] | None:
        document = await self._sessions.find_one({"_id": search_id})
        return None if document is None else decode_state(document)

    @operation
    async def save_graded(self, batch: BatchGraded) -> None:
        await self._graded.update_one(*_once(encode_graded(batch), "batch_id"), upsert=True)

    @operation
    async def graded_batches(self, search_id: str) -> Sequence[BatchGraded]:
        cursor = self._graded.find({"search_id": search_id}).sort("batch_id", ASCENDING)
        return [decode_graded(row) async for row in cursor]

    @operation
    async def list_trials(
        self, search_id: str, *, page_size: int = 100, page_token: str = ""
    ) -> Page[Trial]:
        listing = f"trials:{search_id}"
        query: Document = {"search_id": search_id}
        if page_token:
            query["id"] = {"$gt": decode_token(listing, page_token, 1)[0]}
        if await self._searches.find_one({"_id": search_id}, projection=["_id"]) is None:
            raise SearchNotFound(search_id)
        size = _page_size(page_size)
        rows = await self._trials.find(query).sort("id", ASCENDING).limit(size + 1).to_list()
        items = [decode_trial(row) for row in rows[:size]]
        more = len(rows) > size
        return Page(items, encode_token(listing, [items[-1].id]) if more else "")

    @operation
    async def ping(self) -> None:
        with pymongo.timeout(2.0):
            await self._client.admin.command("ping")

    async def close(self) -> None:
        await self._client.close()


def _page_size(wanted: int) -> int:
    return max(1, min(wanted, MAX_PAGE_SIZE))


def _older_than(listing: str, token: str) -> list[Document]:
    created_at, last = decode_token(listing, token, 2)
    try:
        created = datetime.fromisoformat(created_at)
    except ValueError as error:
        raise invalid_token(token) from error
    return [{"created_at": {"$lt": created}}, {"created_at": created, "_id": {"$lt": last}}]


def _once(document: Document, key: str) -> tuple[Document, Document]:
    """Filter and update that insert a document unless its search has one with this key."""
    identity = {name: document[name] for name in ("search_id", key)}
    return identity, {"$setOnInsert": document}
