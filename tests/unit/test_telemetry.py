"""Metrics are named well, logs are JSON, health is told, and processes stop when asked."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
import structlog
from aiohttp import ClientSession
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from graphwright.telemetry import metrics
from graphwright.telemetry.http import HttpEndpoint
from graphwright.telemetry.logging import UnknownLogLevel, bound, configure
from graphwright.telemetry.process import run_until_signal

LOW_CARDINALITY = {
    *("state", "status", "stage", "outcome", "model", "direction"),
    *("grader", "kind", "operation", "method", "code"),
}

# As the client library calls them: it adds `_total`, `_bucket`, `_sum` and `_count`.
EXPOSED = {
    *("searches", "searches_running", "rounds", "round_seconds", "trials", "leases_lost"),
    *("batches", "llm_calls", "llm_call_seconds", "llm_tokens", "llm_calls_in_flight"),
    *("graph_latency_seconds", "grades", "grading_seconds", "bus_messages"),
    *("archive_operation_seconds", "call_cache_errors", "rpc_requests", "rpc_seconds"),
}

STUBBORN_SERVICE = """
import asyncio
from graphwright.telemetry.process import run_until_signal

async def main(stopping):
    print("running", flush=True)
    await stopping.wait()
    print("asked to stop", flush=True)
    await asyncio.sleep(60)

asyncio.run(run_until_signal(main))
"""


# --- metrics ------------------------------------------------------------------------------------
def own_metrics() -> list[str]:
    names = [metric.name for metric in REGISTRY.collect()]
    return [name for name in names if name.startswith("graphwright_")]


def test_every_metric_that_dashboards_rely_on_is_there() -> None:
    assert set(own_metrics()) == {f"graphwright_{name}" for name in EXPOSED}


def test_labels_take_few_values() -> None:
    found = set()
    for metric in vars(metrics).values():
        found |= set(getattr(metric, "_labelnames", ()))
    assert found == LOW_CARDINALITY


def test_known_states_are_counted_from_zero() -> None:
    for state in ("pending", "running", "succeeded", "failed", "cancelled"):
        assert REGISTRY.get_sample_value("graphwright_searches_total", {"state": state}) is not None
    labels = {"status": "completed", "stage": "search"}
    assert REGISTRY.get_sample_value("graphwright_trials_total", labels) is not None


def test_calls_of_a_model_are_counted_from_zero_once_it_is_known() -> None:
    labels = {"model": "just opened", "outcome": "cached"}
    assert REGISTRY.get_sample_value("graphwright_llm_calls_total", labels) is None
    metrics.initialise_model("just opened")
    assert REGISTRY.get_sample_value("graphwright_llm_calls_total", labels) == 0


# --- logs ---------------------------------------------------------------------------------------
@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """Captured output, with logging as it was before once the test is over."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield capsys
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(log: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.readouterr().out.splitlines()]


def test_own_and_library_logs_come_out_in_one_shape(log: pytest.CaptureFixture[str]) -> None:
    configure("planner", "INFO")
    structlog.get_logger("graphwright.x").info("round_completed", score=0.5)
    logging.getLogger("library").warning("lost %s of %d", "one", 3)
    own, foreign = lines(log)
    assert own["event"] == "round_completed"
    assert own["score"] == 0.5
    assert foreign["event"] == "lost one of 3"
    assert [(line["service"], line["level"]) for line in (own, foreign)] == [
        ("planner", "info"),
        ("planner", "warning"),
    ]
    assert [line["logger"] for line in (own, foreign)] == ["graphwright.x", "library"]
    assert all(str(line["timestamp"]).endswith("Z") for line in (own, foreign))


def test_bound_ids_are_on_every_line_within_and_on_none_after(
    log: pytest.CaptureFixture[str],
) -> None:
    configure("executor")
    logger = structlog.get_logger()
    with bound(search_id="s1"), bound(batch_id="b1"):
        logger.info("inside")
        logging.getLogger("library").warning("inside too")
    logger.info("outside")
    inside, library, outside = lines(log)
    for line in (inside, library):
        assert (line["search_id"], line["batch_id"]) == ("s1", "b1")
        assert "trial_id" not in line
    assert "search_id" not in outside


async def test_tasks_do_not_see_the_ids_of_each_other(log: pytest.CaptureFixture[str]) -> None:
    configure("executor")

    async def work(trial: str) -> None:
        with bound(trial_id=trial):
            await asyncio.sleep(0)
            structlog.get_logger().info("worked", trial=trial)

    await asyncio.gather(*(work(f"t{i}") for i in range(5)))
    assert all(line["trial_id"] == line["trial"] for line in lines(log))


def test_lines_below_the_level_are_left_out(log: pytest.CaptureFixture[str]) -> None:
    configure("executor", "warning")
    structlog.get_logger().info("quiet")
    logging.getLogger("library").info("quiet")
    structlog.get_logger().error("loud")
    assert [line["event"] for line in lines(log)] == ["loud"]


def test_exception_is_logged_on_one_line(log: pytest.CaptureFixture[str]) -> None:
    configure("executor")
    try:
        raise ValueError("ünexpected")
    except ValueError:
        structlog.get_logger().exception("failed", value=object())
    (line,) = lines(log)
    assert "ValueError: ünexpected" in str(line["exception"])


def test_unknown_level_is_refused_by_name() -> None:
    with pytest.raises(UnknownLogLevel, match=r"'loud'.*debug, info"):
        configure("planner", "loud")


# --- health -------------------------------------------------------------------------------------
@asynccontextmanager
async def serving(
    reasons: Sequence[str] = (), delay: float = 0.0
) -> AsyncIterator[tuple[ClientSession, str]]:
    async def why_not() -> Sequence[str]:
        await asyncio.sleep(delay)
        return reasons

    endpoint = HttpEndpoint(0, why_not, host="127.0.0.1", readiness_seconds=0.2)
    async with endpoint, ClientSession() as session:
        yield session, f"http://127.0.0.1:{endpoint.port}"


async def test_metrics_are_served_to_prometheus() -> None:
    async with serving() as (session, url), session.get(f"{url}/metrics") as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        families = text_string_to_metric_families(await response.text())
        assert set(own_metrics()) <= {family.name for family in families}


async def test_ready_service_says_so() -> None:
    async with serving() as (session, url), session.get(f"{url}/readyz") as response:
        assert (response.status, await response.json()) == (200, [])


async def test_service_that_is_not_ready_is_alive_and_says_why() -> None:
    async with serving(["bus: not connected"]) as (session, url):
        async with session.get(f"{url}/readyz") as response:
            assert (response.status, await response.json()) == (503, ["bus: not connected"])
        async with session.get(f"{url}/healthz") as response:
            assert response.status == 200


async def test_readiness_check_that_hangs_is_a_reason() -> None:
    async with serving(delay=30) as (session, url), session.get(f"{url}/readyz") as response:
        assert response.status == 503
        assert "longer than 0.2 s" in (await response.json())[0]


async def test_port_in_use_is_an_os_error() -> None:
    async with serving() as (_, url):
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(OSError, match=str(port)):
            await HttpEndpoint(port, never_asked, host="127.0.0.1").__aenter__()


async def never_asked() -> Sequence[str]:
    return ["never asked"]


# --- stopping -----------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_first_signal_asks_the_service_to_finish(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    finished = []

    async def main(stopping: asyncio.Event) -> None:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopping.wait(), 5)
        finished.append(True)

    await run_until_signal(main)
    assert finished
    assert signal.getsignal(number) is before


async def test_second_signal_ends_the_process_at_once() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STUBBORN_SERVICE), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"running\n"
    process.send_signal(signal.SIGTERM)
    assert await process.stdout.readline() == b"asked to stop\n"
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 5) == 128 + signal.SIGINT


async def test_failure_of_the_service_is_not_swallowed() -> None:
    async def main(_stopping: asyncio.Event) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run_until_signal(main)
