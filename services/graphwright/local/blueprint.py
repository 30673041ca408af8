"""What a stack consists of: which servers are started, on which ports, with which addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphwright.local.ports import LOOPBACK, PortWish, choose
from graphwright.local.repository import pocket_repository
from graphwright.local.server import Server
from graphwright.local.servers import MongoServer, NatsServer, TritonServer
from graphwright.local.service import Service
from graphwright.local.settings import LocalSettings

DATABASE = "graphwright"
PLANNER_PORT = 50051


@dataclass(frozen=True)
class Options:
    """How many executors, and the ports that were asked for (None: the usual or any free one).

    `http_port` is the planner's HTTP port; those of the other services follow it.
    """

    executors: int = 1
    nats_port: int | None = None
    mongodb_port: int | None = None
    triton_http_port: int | None = None
    triton_grpc_port: int | None = None
    triton_metrics_port: int | None = None
    planner_port: int | None = None
    http_port: int | None = None


@dataclass(frozen=True)
class Blueprint:
    """Servers and services in the order of their start; services need the `urls`."""

    servers: Sequence[Server]
    services: Sequence[Service]
    urls: Mapping[str, str]
    ports: Mapping[str, int]


def draw(options: Options, settings: LocalSettings) -> Blueprint:
    """Choose ports, and servers where the environment names none.

    Raises:
        PortTaken: a port that was asked for is in use.
        PocketMissing: Triton is to be started and the pocket models are not there.
    """
    ports = choose(_wishes(options, settings))
    servers = _servers(ports, settings)
    urls = _urls(servers, ports, settings)
    return Blueprint(servers, _services(options, ports, urls, settings.home), urls, ports)


def _wishes(options: Options, settings: LocalSettings) -> list[PortWish]:
    wishes = []
    if settings.nats_url is None:
        wishes.append(PortWish("nats", "--nats-port", options.nats_port, 4222))
    if settings.mongodb_uri is None:
        wishes.append(PortWish("mongodb", "--mongodb-port", options.mongodb_port, 27017))
    if settings.triton_url is None:
        wishes += [
            PortWish("triton-http", "--triton-http-port", options.triton_http_port, 8000),
            PortWish("triton-grpc", "--triton-grpc-port", options.triton_grpc_port, 8001),
            PortWish("triton-metrics", "--triton-metrics-port", options.triton_metrics_port, 8002),
        ]
    wishes.append(PortWish("planner", "--planner-port", options.planner_port, PLANNER_PORT))
    first = options.http_port
    for offset, label in enumerate(_labels(options.executors)):
        asked = None if first is None else first + offset
        wishes.append(PortWish(f"{label}-http", "--http-port", asked, 9101 + offset))
    return wishes


def _labels(executors: int) -> list[str]:
    numbered = [f"executor-{number}" for number in range(2, executors + 1)]
    return ["planner", "executor", "evaluator", *numbered]


def _servers(ports: Mapping[str, int], settings: LocalSettings) -> list[Server]:
    home, logs = settings.home, settings.home / "logs"
    servers: list[Server] = []
    if settings.nats_url is None:
        servers.append(NatsServer(home / "nats", ports["nats"], logs / "nats.log"))
    if settings.mongodb_uri is None:
        servers.append(MongoServer(home / "mongodb", ports["mongodb"], logs / "mongodb.log"))
    if settings.triton_url is None:
        models = pocket_repository(home / "triton" / "models", settings.pocket)
        triton = ports["triton-http"], ports["triton-grpc"], ports["triton-metrics"]
        servers.append(
            TritonServer(home / "triton", triton, models=models, log=logs / "triton.log")
        )
    return servers


def _urls(
    servers: Sequence[Server], ports: Mapping[str, int], settings: LocalSettings
) -> dict[str, str]:
    urls = {server.variable: server.url for server in servers} | settings.given
    return urls | {"GRAPHWRIGHT_URL": f"{LOOPBACK}:{ports['planner']}"}


def _services(
    options: Options, ports: Mapping[str, int], urls: Mapping[str, str], home: Path
) -> list[Service]:
    environment = {name: url for name, url in urls.items() if name != "GRAPHWRIGHT_URL"} | {
        "MONGODB_DATABASE": DATABASE,
        "GRAPHWRIGHT_PLANNER_GRPC_PORT": str(ports["planner"]),
    }
    return [
        Service(
            label.partition("-")[0],
            ports[f"{label}-http"],
            environment,
            label=label,
            log=home / "logs" / f"{label}.log",
        )
        for label in _labels(options.executors)
    ]
