"""The servers that Graphwright stands on, started from the wheels' programs.

`nats_server(folder)`, `mongod(folder)` and `triton(folder)` run one on free ports for the duration
of a block; the object they yield has its urls, `pid`, `kill()` and `restart()`.
"""

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import ClassVar

from pymongo import AsyncMongoClient
from pymongo.errors import OperationFailure, PyMongoError

from graphwright.local.ports import LOOPBACK, free_ports
from graphwright.local.probes import accepts, greets
from graphwright.local.processes import Launch
from graphwright.local.repository import link_backend, pocket_repository
from graphwright.local.server import Server
from graphwright.local.settings import LocalSettings, inherited
from graphwright.local.wheels import (
    mongodb_program,
    nats_program,
    python_libraries,
    triton_wheel,
)

REPLICA_SET = "rs0"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux keeps it
NOT_YET_INITIALIZED = 94
INVALID_REPLICA_SET_CONFIG = 93


class NatsServer(Server):
    """NATS with JetStream on file storage."""

    name: ClassVar[str] = "nats"
    variable: ClassVar[str] = "NATS_URL"

    def __init__(self, folder: Path, port: int, log: Path | None = None) -> None:
        super().__init__(log or folder / "nats.log")
        self.folder = folder
        self.port = port

    @property
    def url(self) -> str:
        """`nats://host:port`."""
        return f"nats://{LOOPBACK}:{self.port}"

    def launch(self) -> Launch:
        """JetStream keeps its files in the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        where = ("-a", LOOPBACK, "-p", str(self.port), "-sd", str(self.folder))
        return Launch(self.name, (str(nats_program()), "-js", *where), inherited(), self.log)

    async def ready(self) -> bool:
        """It greets only after JetStream has recovered its streams."""
        return await greets(self.port, b"INFO ")


class MongoServer(Server):
    """MongoDB as a replica set of one, which transactions and change streams need."""

    name: ClassVar[str] = "mongodb"
    variable: ClassVar[str] = "MONGODB_URI"

    def __init__(self, folder: Path, port: int, log: Path | None = None) -> None:
        super().__init__(log or folder.with_suffix(".log"))
        self.folder = folder
        self.port = port

    @property
    def url(self) -> str:
        """`mongodb://host:port/?replicaSet=rs0`."""
        return f"mongodb://{LOOPBACK}:{self.port}/?replicaSet={REPLICA_SET}"

    def launch(self) -> Launch:
        """A small cache and oplog: this runs beside everything else on a laptop."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = (
            *(str(mongodb_program()), "--dbpath", str(self.folder), "--replSet", REPLICA_SET),
            *("--bind_ip", LOOPBACK, "--port", str(self.port), "--nounixsocket", "--quiet"),
            *("--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "256"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
            # What a planner killed within a checkpoint leaves open blocks claims until it expires.
            *("--setParameter", "transactionLifetimeLimitSeconds=10"),
            # A set of one has nobody to hand over to, so a stop need not wait for anybody.
            *("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"),
        )
        return Launch(self.name, command, inherited(), self.log)

    async def ready(self) -> bool:
        """Ready means primary; the set is made, or told its new port, on the way."""
        if not await accepts(self.port):
            return False
        client: AsyncMongoClient[dict[str, object]] = AsyncMongoClient(
            LOOPBACK, self.port, directConnection=True, serverSelectionTimeoutMS=2000
        )
        async with client:
            try:
                hello = await client.admin.command("hello")
                if not hello.get("isWritablePrimary"):
                    await self._configure(client)
            except PyMongoError:
                return False
            return bool(hello.get("isWritablePrimary"))

    async def _configure(self, client: AsyncMongoClient[dict[str, object]]) -> None:
        member = {"_id": 0, "host": f"{LOOPBACK}:{self.port}"}
        config: dict[str, object] = {"_id": REPLICA_SET, "members": [member]}
        try:
            await client.admin.command("replSetGetStatus")
        except OperationFailure as failure:
            if failure.code == NOT_YET_INITIALIZED:
                await client.admin.command({"replSetInitiate": config})
            elif failure.code == INVALID_REPLICA_SET_CONFIG:
                # The data come from a run on another port.
                config["version"] = await self._next_version(client)
                await client.admin.command({"replSetReconfig": config, "force": True})

    @staticmethod
    async def _next_version(client: AsyncMongoClient[dict[str, object]]) -> int:
        answer = await client.admin.command("replSetGetConfig")
        return int(answer["config"]["version"]) + 1


class TritonServer(Server):
    """Triton Inference Server on the CPU, with its Python backend."""

    name: ClassVar[str] = "triton"
    variable: ClassVar[str] = "TRITON_URL"
    start_seconds: ClassVar[float] = 180.0  # a first start compiles the models' code

    def __init__(
        self, folder: Path, ports: tuple[int, int, int], *, models: Path, log: Path | None = None
    ) -> None:
        """`ports` are those of HTTP, gRPC and metrics; `models` is a model repository."""
        super().__init__(log or folder / "triton.log")
        self.folder = folder
        self.http_port, self.grpc_port, self.metrics_port = ports
        self.models = models
        self._settings = LocalSettings()

    @property
    def grpc_url(self) -> str:
        """`host:port`, as gRPC wants it."""
        return f"{LOOPBACK}:{self.grpc_port}"

    @property
    def url(self) -> str:
        """Clients speak gRPC."""
        return self.grpc_url

    @property
    def http_url(self) -> str:
        """Root of the HTTP API."""
        return f"http://{LOOPBACK}:{self.http_port}"

    @property
    def metrics_url(self) -> str:
        """What Prometheus scrapes."""
        return f"http://{LOOPBACK}:{self.metrics_port}/metrics"

    def launch(self) -> Launch:
        """Listens on the loopback interface only and leaves GPUs alone."""
        wheel = triton_wheel()
        self.sweep()
        command = (
            *(str(wheel.program), "--model-repository", str(self.models)),
            *("--backend-directory", str(link_backend(self.folder / "backends", wheel))),
            *("--http-address", LOOPBACK, "--http-port", str(self.http_port)),
            *("--grpc-address", LOOPBACK, "--grpc-port", str(self.grpc_port)),
            *("--metrics-port", str(self.metrics_port), "--allow-gpu-metrics", "false"),
            *("--metrics-config", "summary_latencies=true"),
            *("--exit-timeout-secs", "5", "--pinned-memory-pool-byte-size", "0"),
            *("--backend-config", f"python,shm-region-prefix-name={self._shared}"),
        )
        return Launch(self.name, command, self._environment(wheel.libraries), self.log)

    @property
    def _shared(self) -> str:
        return f"graphwright_{self.grpc_port}_"

    def sweep(self) -> None:
        """A killed Triton leaves the shared memory of its models behind."""
        for region in SHARED_MEMORY.glob(f"{self._shared}*"):
            region.unlink(missing_ok=True)

    def _environment(self, libraries: Path) -> dict[str, str]:
        environment = inherited()
        # The backend's interpreter is isolated: it finds the packages by the python on its PATH.
        environment["PATH"] = f"{Path(sys.prefix) / 'bin'}:{environment.get('PATH', '')}"
        environment["LD_LIBRARY_PATH"] = f"{libraries}:{python_libraries()}"
        environment["OMP_NUM_THREADS"] = "1"  # several models share the cores already
        environment["NUMBA_CACHE_DIR"] = str(self._settings.compiled)
        self._settings.compiled.mkdir(parents=True, exist_ok=True)
        return environment

    @property
    def ready_url(self) -> str:
        """Triton opens its ports once all models are loaded."""
        return f"{self.http_url}/v2/health/ready"


def nats_server(folder: Path) -> AbstractAsyncContextManager[NatsServer]:
    """NATS on a free port, with its data in `folder`."""
    return NatsServer(folder, free_ports(1)[0]).running()


def mongod(folder: Path) -> AbstractAsyncContextManager[MongoServer]:
    """MongoDB on a free port, with its data in `folder`."""
    return MongoServer(folder, free_ports(1)[0]).running()


def triton(folder: Path, models: Path | None = None) -> AbstractAsyncContextManager[TritonServer]:
    """Triton on free ports, serving a model repository (the pocket models where none is given)."""
    http, grpc, metrics = free_ports(3)
    served = models or pocket_repository(folder / "models", LocalSettings().pocket)
    return TritonServer(folder, (http, grpc, metrics), models=served).running()
