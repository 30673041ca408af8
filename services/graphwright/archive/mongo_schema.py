"""Collections, indexes and the schema version of the archive's database."""

from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel, ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure

from graphwright.archive.mongo_documents import SCHEMA_VERSION, Document
from graphwright.archive.port import ArchiveError

_COLLECTION_EXISTS = 48

INDEXES = {
    "searches": [
        IndexModel([("request_id", ASCENDING)], unique=True),
        # Serves claiming (oldest first) and listing by state (youngest first).
        IndexModel([("state", ASCENDING), ("created_at", ASCENDING), ("_id", ASCENDING)]),
        IndexModel([("created_at", DESCENDING), ("_id", DESCENDING)]),
    ],
    "trials": [IndexModel([("search_id", ASCENDING), ("id", ASCENDING)], unique=True)],
    "graded": [IndexModel([("search_id", ASCENDING), ("batch_id", ASCENDING)], unique=True)],
    "sessions": [],
}


class SchemaTooNew(ArchiveError):
    """The database was written by a newer version of this program."""

    def __init__(self, found: int) -> None:
        super().__init__(
            f"the archive has schema version {found}, this program knows {SCHEMA_VERSION}: "
            "upgrade the program"
        )
        self.found = found


class ReplicaSetRequired(ArchiveError):
    """The server stands alone, so it offers no transactions."""

    def __init__(self) -> None:
        super().__init__(
            "MongoDB must run as a replica set (one member will do): start mongod with --replSet "
            "and initiate the set"
        )


async def prepare(database: AsyncDatabase[Document]) -> None:
    """Create what is missing; any number of services may do so at once.

    Raises:
        ReplicaSetRequired: nothing was changed.
        SchemaTooNew: nothing was changed.
    """
    await _check_transactions(database)
    await _check_version(database)
    for name, indexes in INDEXES.items():
        await _create_collection(database, name)
        if indexes:
            await database[name].create_indexes(indexes)


async def _check_transactions(database: AsyncDatabase[Document]) -> None:
    hello = await database.client.admin.command("hello")
    if "setName" not in hello and hello.get("msg") != "isdbgrid":  # a router of a sharded cluster
        raise ReplicaSetRequired


async def _check_version(database: AsyncDatabase[Document]) -> None:
    stored: Any = await database["schema"].find_one_and_update(
        {"_id": "archive"},
        {"$setOnInsert": {"version": SCHEMA_VERSION}},
        upsert=True,
        return_document=ReturnDocument.AFTER,
    )
    if stored["version"] > SCHEMA_VERSION:
        raise SchemaTooNew(stored["version"])


async def _create_collection(database: AsyncDatabase[Document], name: str) -> None:
    try:
        await database.create_collection(name, check_exists=False)
    except OperationFailure as error:
        if error.code != _COLLECTION_EXISTS:
            raise
