"""A transaction whose owner was killed does not hold up the other planners for long."""

import asyncio

from pymongo import AsyncMongoClient

from graphwright.archive.mongo import MongoArchive
from graphwright.archive.port import ArchiveUnavailable

from .archive_examples import a_search


async def test_claims_go_on_after_a_checkpoint_was_left_open(mongodb_uri: str) -> None:
    database = "orphans"
    archive = await MongoArchive.connect(mongodb_uri, database)
    search = await archive.create_search(a_search())
    async with AsyncMongoClient(mongodb_uri) as client, client.start_session() as session:
        await session.start_transaction()
        await client[database]["searches"].update_one(
            {"_id": search.id}, {"$set": {"touched": True}}, session=session
        )
        async with asyncio.timeout(40):
            while True:
                try:
                    if await archive.claim("planner", 10):
                        break
                except ArchiveUnavailable:
                    continue
        await session.abort_transaction()
    await archive.close()
