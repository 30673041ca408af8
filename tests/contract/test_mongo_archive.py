"""MongoArchive keeps the archive's contract, and what MongoDB adds to it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import bson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymongo import AsyncMongoClient

from graphwright.archive.mongo import MongoArchive
from graphwright.archive.mongo_documents import Document, decode_state, encode_state
from graphwright.archive.mongo_schema import ReplicaSetRequired, SchemaTooNew
from graphwright.archive.page_tokens import decode_token, encode_token
from graphwright.archive.port import Archive, ArchiveUnavailable, InvalidPageToken
from graphwright.local.ports import free_ports
from graphwright.local.processes import Launch
from graphwright.local.servers import MongoServer

from .archive_examples import a_search, a_trial
from .archive_steps import Connect, claim
from .archive_suite import ArchiveSuite

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text().filter(lambda key: "\0" not in key), inner, max_size=4)
    ),
    max_leaves=12,
)

# Run by a planner on another machine, whose clock is an hour off.
PLANNER_WITH_ANOTHER_CLOCK = """
import asyncio, datetime, sys, time

uri, database, shift = sys.argv[1], sys.argv[2], float(sys.argv[3])
true_time, TrueDatetime = time.time, datetime.datetime

class Shifted(TrueDatetime):
    @classmethod
    def now(cls, tz=None):
        return TrueDatetime.now(tz) + datetime.timedelta(seconds=shift)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.UTC).replace(tzinfo=None)

time.time = lambda: true_time() + shift
datetime.datetime = Shifted

from graphwright.archive.mongo import MongoArchive

async def main():
    archive = await MongoArchive.connect(uri, database)
    lease = await archive.claim("elsewhere", 60)
    print("nothing" if lease is None else "claimed")
    await archive.close()

asyncio.run(main())
"""


@pytest.fixture
def database() -> str:
    return f"archive_{uuid4().hex[:12]}"


@pytest.fixture
async def client(mongodb_uri: str, database: str) -> AsyncIterator[AsyncMongoClient[Document]]:
    """A client of MongoDB; the test's database is dropped in the end."""
    async with AsyncMongoClient[Document](mongodb_uri) as client:
        yield client
        await client.drop_database(database)


@pytest.fixture
async def connect(
    mongodb_uri: str, database: str, client: AsyncMongoClient[Document]
) -> AsyncIterator[Connect]:
    opened: list[Archive] = []

    async def open_another() -> Archive:
        opened.append(await MongoArchive.connect(mongodb_uri, database))
        return opened[-1]

    yield open_another
    for archive in opened:
        await archive.close()


class TestMongoArchive(ArchiveSuite):
    """The contract, bound to a real mongod."""


# --- leases and the clock -----------------------------------------------------------------------
@pytest.mark.parametrize("shift", [-3600.0, 3600.0])
async def test_lease_holds_against_a_planner_whose_clock_is_off(
    connect: Connect, mongodb_uri: str, database: str, shift: float
) -> None:
    archive = await connect()
    await archive.create_search(a_search())
    await claim(archive, "here", 60)
    assert await claim_elsewhere(mongodb_uri, database, shift) == "nothing"


@pytest.mark.parametrize("shift", [-3600.0, 3600.0])
async def test_lease_of_a_planner_whose_clock_is_off_holds_as_long_as_any(
    connect: Connect,
    mongodb_uri: str,
    database: str,
    shift: float,
    client: AsyncMongoClient[Document],
) -> None:
    archive = await connect()
    await archive.create_search(a_search())
    assert await claim_elsewhere(mongodb_uri, database, shift) == "claimed"
    left = [{"$project": {"left": {"$subtract": ["$lease.expires", "$$NOW"]}}}]
    cursor = await client[database]["searches"].aggregate(left)
    (row,) = await cursor.to_list()
    assert 30_000 < row["left"] <= 60_000


async def claim_elsewhere(uri: str, database: str, shift: float) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PLANNER_WITH_ANOTHER_CLOCK, uri, database, str(shift)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return output.decode().strip()


# --- documents ----------------------------------------------------------------------------------
async def test_documents_can_be_queried(
    connect: Connect, client: AsyncMongoClient[Document], database: str
) -> None:
    archive = await connect()
    search = await archive.create_search(a_search(seed=2**63 - 1))
    lease = await claim(archive, "planner")
    await archive.checkpoint(lease, search, state={"θ": [0.5]}, trials=[a_trial(search.id, "t")])
    stored = client[database]
    assert await stored["searches"].find_one({"spec.seed": 2**63 - 1, "spec.budget.limit": 18})
    assert await stored["searches"].find_one({"created_at": {"$type": "date"}})
    assert await stored["trials"].find_one({"graph.nodes.model": "pocket.l", "score": {"$gt": 0}})
    assert await stored["sessions"].find_one({"state.θ": 0.5})
    for name in ("searches", "trials", "sessions"):
        assert await stored[name].count_documents({"schema_version": {"$ne": 1}}) == 0


@given(st.dictionaries(st.text(max_size=4).filter(lambda key: "\0" not in key), JSON, max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_json_state_survives_its_document(state: Document) -> None:
    restored = decode_state(bson.decode(bson.encode(encode_state("s", state))))
    assert repr(restored) == repr(state)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
@settings(max_examples=50)
def test_page_token_gives_back_its_key(key: list[str]) -> None:
    assert decode_token("listing", encode_token("listing", key), len(key)) == key


@given(st.text())
@settings(max_examples=100)
def test_any_other_text_is_no_page_token(text: str) -> None:
    with pytest.raises(InvalidPageToken):
        decode_token("listing", text, 1)


async def test_token_with_a_forged_date_is_refused(connect: Connect) -> None:
    archive = await connect()
    with pytest.raises(InvalidPageToken):
        await archive.list_searches(page_token=encode_token("searches:", ["yesterday", "id"]))


# --- schema and server --------------------------------------------------------------------------
async def test_services_may_prepare_one_database_at_once(
    mongodb_uri: str, database: str, client: AsyncMongoClient[Document]
) -> None:
    archives = await asyncio.gather(
        *(MongoArchive.connect(mongodb_uri, database) for _ in range(8))
    )
    for archive in archives:
        await archive.close()
    indexes = await client[database]["searches"].index_information()
    assert indexes["request_id_1"]["unique"]


async def test_newer_schema_is_refused_and_left_alone(
    mongodb_uri: str, database: str, client: AsyncMongoClient[Document]
) -> None:
    await client[database]["schema"].insert_one({"_id": "archive", "version": 2})
    with pytest.raises(SchemaTooNew, match=r"schema version 2.*upgrade"):
        await MongoArchive.connect(mongodb_uri, database)
    assert await client[database].list_collection_names() == ["schema"]


async def test_server_without_transactions_is_refused(tmp_path: Path) -> None:
    async with Alone(tmp_path / "data", free_ports(1)[0]).running() as server:
        with pytest.raises(ReplicaSetRequired, match="--replSet"):
            await MongoArchive.connect(f"mongodb://127.0.0.1:{server.port}")


async def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(ArchiveUnavailable):
        await MongoArchive.connect(
            f"mongodb://127.0.0.1:{free_ports(1)[0]}/?replicaSet=rs0", timeout_seconds=0.5
        )


class Alone(MongoServer):
    """A server that belongs to no replica set."""

    def launch(self) -> Launch:
        launch = super().launch()
        place = launch.command.index("--replSet")
        command = (*launch.command[:place], *launch.command[place + 2 :])
        return Launch(launch.name, command, launch.environment, launch.log)

    async def ready(self) -> bool:
        async with AsyncMongoClient[Document]("127.0.0.1", self.port) as client:
            return bool((await client.admin.command("hello"))["isWritablePrimary"])
