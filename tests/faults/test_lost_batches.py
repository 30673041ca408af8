"""A search whose batches nobody answers ends, soon and with the reason."""

from pathlib import Path

from graphwright.bus.nats import NatsBus
from graphwright.bus.port import Rejected
from graphwright.local.servers import TritonServer
from graphwright.search.messages import ExecuteBatch

from ..e2e.ring import a_spec, ring


async def test_a_search_that_nobody_answers_fails_and_says_so(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    impatient = {"GRAPHWRIGHT_PLANNER_BATCH_SECONDS": "0.3"}
    async with ring(tmp_path, mongodb_uri, triton, **impatient) as running:
        running.services["executor-1"].kill()
        ended = await running.finish(await running.submit(a_spec()), seconds=20)
    assert ended.state == "failed"
    assert "sent 3 times in vain: no answer within 0.3 s" in ended.error


async def test_a_search_whose_batches_are_rejected_fails_with_the_reason(
    tmp_path: Path, mongodb_uri: str, triton: TritonServer
) -> None:
    """The default deadline of a batch is half an hour: the dead letter ends the wait."""

    async def reject(batch: ExecuteBatch) -> None:
        raise Rejected(f"task {batch.task!r} differs here")

    async with ring(tmp_path, mongodb_uri, triton) as running:
        running.services["executor-1"].kill()
        bus = await NatsBus.connect(running.nats.url)
        async with bus.consume(ExecuteBatch, reject, concurrency=1):
            ended = await running.finish(await running.submit(a_spec()), seconds=20)
        await bus.close()
    assert ended.state == "failed"
    assert "task 'arithmetic' differs here" in ended.error
