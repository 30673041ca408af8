"""Real servers for tests: each is started when a first test asks for it, and ended for sure."""

from collections.abc import AsyncIterator

import pytest

from graphwright.local.servers import TritonServer, mongod, nats_server
from graphwright.local.servers import triton as triton_server


@pytest.fixture(scope="session")
async def nats_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """URL of a NATS server with JetStream, shared by all tests: use names of your own."""
    async with nats_server(tmp_path_factory.mktemp("nats")) as server:
        yield server.url


@pytest.fixture(scope="session")
async def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """URI of a MongoDB replica set, shared by all tests: use a database of your own."""
    async with mongod(tmp_path_factory.mktemp("mongodb") / "data") as server:
        yield server.url


@pytest.fixture(scope="session")
async def triton(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TritonServer]:
    """Triton with the pocket models; `.grpc_url`, `.http_url`, `.metrics_url`."""
    async with triton_server(tmp_path_factory.mktemp("triton")) as server:
        yield server
