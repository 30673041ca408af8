"""MongoCallCache remembers calls, forgets the oldest, and never fails its caller."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from uuid import uuid4

import pytest
from pymongo import AsyncMongoClient

from graphwright.archive.mongo_calls import MongoCallCache
from graphwright.archive.mongo_documents import Document
from graphwright.local.ports import free_ports
from graphwright.local.servers import mongod
from graphwright.search.calls import Completion
from graphwright.telemetry.metrics import CALL_CACHE_ERRORS


@pytest.fixture
async def calls(mongodb_uri: str, database: str) -> AsyncIterator[AsyncMongoClient[Document]]:
    """A client of MongoDB; the test's database is dropped in the end."""
    async with AsyncMongoClient[Document](mongodb_uri) as client:
        yield client
        await client.drop_database(database)


@pytest.fixture
def database() -> str:
    return f"calls_{uuid4().hex[:12]}"


@pytest.fixture
async def cache(
    mongodb_uri: str, database: str, calls: AsyncMongoClient[Document]
) -> AsyncIterator[MongoCallCache]:
    cache = await MongoCallCache.connect(mongodb_uri, database)
    yield cache
    await cache.close()


def completion(text: str = "42") -> Completion:
    return Completion(text=text, prompt_tokens=12, output_tokens=3, seconds=0.25)


def some(count: int, prefix: str = "key") -> dict[str, Completion]:
    return {f"{prefix}{i:06d}": completion(f"answer {i}\n\0ü") for i in range(count)}


def errors() -> float:
    (metric,) = CALL_CACHE_ERRORS.collect()
    return next(sample.value for sample in metric.samples if sample.name.endswith("_total"))


async def test_finds_what_was_stored_and_nothing_else(cache: MongoCallCache) -> None:
    stored = some(500)
    await cache.store(stored)
    assert await cache.find([*stored, "unknown"]) == stored
    assert await cache.find(["unknown"]) == {}


async def test_nothing_is_found_and_stored_without_keys(cache: MongoCallCache) -> None:
    before = errors()
    await cache.store({})
    assert await cache.find([]) == {}
    assert errors() == before


async def test_first_completion_of_a_key_stays_and_others_are_stored(cache: MongoCallCache) -> None:
    before = errors()
    await cache.store({"a": completion("first")})
    await cache.store({"a": completion("second"), "b": completion("other")})
    found = await cache.find(["a", "b"])
    assert {key: found[key].text for key in found} == {"a": "first", "b": "other"}
    assert errors() == before


async def test_entry_of_another_version_is_no_hit(
    cache: MongoCallCache, calls: AsyncMongoClient[Document], database: str
) -> None:
    await calls[database]["calls"].insert_one({"_id": "old", "reply": "?"})
    await cache.store({"good": completion()})
    assert await cache.find(["old", "good"]) == {"good": completion()}


async def test_oldest_entries_go_when_there_are_too_many(
    mongodb_uri: str, database: str, calls: AsyncMongoClient[Document]
) -> None:
    cache = await MongoCallCache.connect(mongodb_uri, database, max_documents=100)
    for batch in range(30):
        await cache.store(some(10, f"{batch:02d}-"))
    assert await calls[database]["calls"].count_documents({}) == 100
    assert await cache.find(list(some(10, "29-"))) == some(10, "29-")
    assert await cache.find(list(some(10, "00-"))) == {}
    await cache.close()


async def test_entries_expire(
    mongodb_uri: str, database: str, calls: AsyncMongoClient[Document]
) -> None:
    for days in (7, 2):  # another time to live replaces the one of before
        cache = await MongoCallCache.connect(
            mongodb_uri, database, time_to_live=timedelta(days=days)
        )
        before = errors()
        await cache.store({f"stored under {days}": completion()})
        await cache.close()
        indexes = await calls[database]["calls"].index_information()
        assert indexes["created_at_1"]["expireAfterSeconds"] == days * 86_400
        assert errors() == before
    dated = {"created_at": {"$type": "date"}}
    assert await calls[database]["calls"].count_documents(dated) == 2


async def test_completion_that_cannot_be_stored_does_not_stop_the_others(
    cache: MongoCallCache,
) -> None:
    before = errors()
    await cache.store({"broken": completion().model_copy(update={"text": "\ud800"})})
    assert errors() == before + 1
    await cache.store({"good": completion()})
    assert await cache.find(["broken", "good"]) == {"good": completion()}


async def test_database_that_was_never_there_costs_a_rest_and_no_error() -> None:
    uri = f"mongodb://127.0.0.1:{free_ports(1)[0]}/?replicaSet=rs0&connectTimeoutMS=200"
    cache = await MongoCallCache.connect(uri)
    before, begun = errors(), perf_counter()
    assert await cache.find(["key"]) == {}
    waited = perf_counter() - begun
    await cache.store(some(3))
    assert await cache.find(["key"]) == {}
    assert perf_counter() - begun < waited + 0.1
    assert errors() == before + 1
    await cache.close()


async def test_cache_works_again_after_the_database_was_away(tmp_path: Path) -> None:
    async with mongod(tmp_path / "data") as server:
        cache = await MongoCallCache.connect(server.url, rest_seconds=0.0)
        await cache.store(some(3))
        await server.end()
        before = errors()
        assert await cache.find(list(some(3))) == {}
        await cache.store(some(3, "lost"))
        assert errors() == before + 2
        await server.start()
        await cache.store(some(3, "kept"))
        assert await cache.find(list(some(3, "kept"))) == some(3, "kept")
        await cache.close()


async def test_thousands_of_keys_a_second_from_one_client(cache: MongoCallCache) -> None:
    stored = some(6_400)
    keys = list(stored)
    chunks = [keys[i : i + 64] for i in range(0, len(keys), 64)]
    begun = perf_counter()
    for chunk in chunks:
        await cache.store({key: stored[key] for key in chunk})
    between = perf_counter()
    for chunk in chunks:
        assert len(await cache.find(chunk)) == len(chunk)
    # Measured on two shared cores: more than 60,000 keys a second each way.
    assert len(keys) / (between - begun) > 3_000
    assert len(keys) / (perf_counter() - between) > 3_000
