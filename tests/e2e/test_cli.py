"""The `graphwright` command as scripts use it: forms, JSON and exit codes."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphwright.graphs.graph import Graph
from graphwright.local.servers import TritonServer

from .ring import ring

SUBMIT = ("submit", "--task", "arithmetic", "--pool", "pocket")
QUICK = ("--iterations", "2", "--batch", "6", "--graphs", "3")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Command:
    """`graphwright` with the environment of a test."""

    environment: dict[str, str]

    async def __call__(self, *arguments: str) -> Outcome:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("graphwright")),
            *arguments,
            env=os.environ | self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode is not None
        return Outcome(process.returncode, out.decode(), err.decode())


@pytest.fixture(scope="module")
async def graphwright(
    tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, triton: TritonServer
) -> AsyncIterator[Command]:
    folder = tmp_path_factory.mktemp("cli")
    async with ring(folder, mongodb_uri, triton) as running:
        port = running.environment["GRAPHWRIGHT_PLANNER_GRPC_PORT"]
        home = str(folder / "home")
        yield Command({"GRAPHWRIGHT_URL": f"127.0.0.1:{port}", "GRAPHWRIGHT_HOME": home})


async def test_a_search_from_submission_to_export(graphwright: Command) -> None:
    done = await graphwright(*SUBMIT, "--budget", "8", *QUICK, "--wait", "--json")
    assert done.code == 0, done.err
    search = json.loads(done.out)
    assert search["state"] == "succeeded"
    assert search["optimizer"] == "agent-reinforce"
    assert search["budget_units"] <= 8
    assert search["llm_calls"] >= search["executed_llm_calls"] > 0
    assert 0 <= search["test_score"] <= 1
    assert search["single_model_scores"].keys() >= {"abacus-55k"}
    assert "best validation" in done.err

    trials = await graphwright("trials", search["id"], "--json")
    rows = [json.loads(line) for line in trials.out.splitlines()]
    assert len(rows) > 6
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    wanted = {"id", "iteration", "graph", "graph_hash", "budget_units", "score", "status"}
    assert all(row.keys() >= wanted | {"latency_seconds"} for row in rows)

    exported = await graphwright("export", search["id"], "--format", "json")
    assert Graph.model_validate_json(exported.out) == Graph.model_validate(search["graph"])
    for format_, beginning in (("mermaid", "flowchart"), ("dot", "digraph")):
        assert (await graphwright("export", search["id"], "--format", format_)).out.startswith(
            beginning
        )

    shown = await graphwright("show", search["id"])
    assert f"{search['test_score']:.1%}" in shown.out
    watched = await graphwright("watch", search["id"])
    assert watched.code == 0
    listed = await graphwright("list", "--json")
    assert json.loads(listed.out.splitlines()[0])["id"] == search["id"]


async def test_submitting_without_waiting_returns_at_once(graphwright: Command) -> None:
    submitted = await graphwright(*SUBMIT, "--budget", "8", "--iterations", "900", "--json")
    search = json.loads(submitted.out)
    assert search["state"] == "pending"
    cancelled = await graphwright("cancel", search["id"])
    assert cancelled.code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*SUBMIT, "--budget", "-3"), "limit"),
        ((*SUBMIT, "--budget", "0.2"), "no graph fits"),
        ((*SUBMIT, "--budget", "many"), "--budget"),
        (("submit", "--task", "x", "--pool", "pocket", "--budget", "8"), "unknown task"),
        (("submit", "--task", "a b", "--pool", "pocket", "--budget", "8"), "task"),
        ((*SUBMIT, "--budget", "8", "--optimizer", "luck"), "unknown optimizer"),
        (("show", "nobody"), "no search has the id"),
        (("export", "nobody"), "no search has the id"),
        (("launch",), "No such command"),
    ],
)
async def test_bad_input_exits_with_2_and_says_why(
    graphwright: Command, arguments: tuple[str, ...], says: str
) -> None:
    refused = await graphwright(*arguments)
    assert refused.code == 2
    assert says in refused.err
    assert "Traceback" not in refused.err


async def test_no_planner_is_a_failure_with_a_remedy(graphwright: Command) -> None:
    nowhere = Command(graphwright.environment | {"GRAPHWRIGHT_URL": "127.0.0.1:9"})
    refused = await nowhere("list")
    assert refused.code == 1
    assert "graphwright up" in refused.err


async def test_every_command_has_help(graphwright: Command) -> None:
    top = await graphwright("--help")
    for name in ("up", "down", "status", "submit", "watch", "list", "show", "trials", "export"):
        assert name in top.out
        described = await graphwright(name, "--help")
        assert described.code == 0
        assert "Usage" in described.out
