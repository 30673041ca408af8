"""The batcher: what is asked for at once goes out at once, and everyone gets an own answer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.inference.batcher import Batcher


class Kitchen:
    """Doubles numbers in batches, and remembers the batches; each waits for the gate."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.busy = self.busiest = 0
        self.cancelled = 0

    async def cook(self, items: Sequence[int]) -> Sequence[int | Exception]:
        self.batches.append(list(items))
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.busy -= 1
        return [ValueError(f"{item} is odd") if item < 0 else 2 * item for item in items]


async def turns(count: int = 20) -> None:
    """Let the event loop run for a while."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_is_asked_for_together_leaves_together() -> None:
    kitchen = Kitchen()
    batcher = Batcher(kitchen.cook, limit=100)
    assert await asyncio.gather(*(batcher.submit(n) for n in range(50))) == list(range(0, 100, 2))
    assert kitchen.batches == [list(range(50))]


async def test_callers_that_arrive_a_few_turns_apart_still_share_a_batch() -> None:
    kitchen = Kitchen()
    batcher = Batcher(kitchen.cook, limit=100)

    async def late(n: int) -> int:
        await turns(n)
        return await batcher.submit(n)

    await asyncio.gather(*(late(n) for n in range(10)))
    assert len(kitchen.batches) == 1


async def test_a_steady_stream_does_not_hold_a_batch_back() -> None:
    kitchen = Kitchen()
    batcher = Batcher(kitchen.cook, limit=10**6)
    first = asyncio.create_task(batcher.submit(1))
    others = []
    async with asyncio.timeout(1):
        while not first.done():
            others.append(asyncio.create_task(batcher.submit(2)))
            await asyncio.sleep(0)
    await asyncio.gather(*others)


async def test_no_batch_exceeds_the_limit_and_a_full_one_leaves_at_once() -> None:
    kitchen = Kitchen()
    batcher = Batcher(kitchen.cook, limit=4)
    calls = [asyncio.create_task(batcher.submit(n)) for n in range(10)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert kitchen.batches == [[0, 1, 2, 3], [4, 5, 6, 7]]
    await asyncio.gather(*calls)
    assert kitchen.batches[2:] == [[8, 9]]


async def test_batches_grow_while_all_places_are_taken() -> None:
    kitchen = Kitchen()
    kitchen.gate.clear()
    batcher = Batcher(kitchen.cook, limit=100, in_flight=2)
    calls = []
    for n in range(30):
        calls.append(asyncio.create_task(batcher.submit(n)))
        await turns()
    assert kitchen.batches == [[0], [1]]
    kitchen.gate.set()
    await asyncio.gather(*calls)
    assert kitchen.batches[2:] == [list(range(2, 30))]
    assert kitchen.busiest == 2


async def test_groups_do_not_mix_and_take_turns() -> None:
    kitchen = Kitchen()
    batcher = Batcher(kitchen.cook, limit=2, in_flight=1, group=lambda n: n % 2)
    await asyncio.gather(*(batcher.submit(n) for n in range(8)))
    assert kitchen.batches == [[0, 2], [1, 3], [4, 6], [5, 7]]


async def test_an_error_among_the_answers_is_raised_for_its_item_alone() -> None:
    batcher = Batcher(Kitchen().cook, limit=10)
    results = await asyncio.gather(*map(batcher.submit, [1, -2, 3]), return_exceptions=True)
    assert [results[0], results[2]] == [2, 6]
    assert isinstance(results[1], ValueError)


async def test_an_error_of_the_batch_is_raised_for_all() -> None:
    async def burn(items: Sequence[int]) -> Sequence[int]:
        raise OSError(f"{len(items)} burnt")

    batcher = Batcher(burn, limit=10)
    results = await asyncio.gather(*map(batcher.submit, [1, 2]), return_exceptions=True)
    assert [str(result) for result in results] == ["2 burnt", "2 burnt"]


async def test_a_batch_is_cancelled_when_its_last_caller_is() -> None:
    kitchen = Kitchen()
    kitchen.gate.clear()
    batcher = Batcher(kitchen.cook, limit=10)
    calls = [asyncio.create_task(batcher.submit(n)) for n in range(3)]
    await turns()
    for call in calls[:2]:
        call.cancel()
    await turns()
    assert kitchen.cancelled == 0
    calls[2].cancel()
    await turns()
    assert (kitchen.cancelled, kitchen.busy) == (1, 0)


async def test_who_gave_up_while_waiting_is_not_sent() -> None:
    kitchen = Kitchen()
    kitchen.gate.clear()
    batcher = Batcher(kitchen.cook, limit=10, in_flight=1)
    calls = [asyncio.create_task(batcher.submit(0))]
    await turns()
    calls += [asyncio.create_task(batcher.submit(n)) for n in (1, 2)]
    await turns()
    calls[1].cancel()
    kitchen.gate.set()
    assert await calls[2] == 4
    assert kitchen.batches == [[0], [2]]


async def test_closing_cancels_waiting_and_running_alike() -> None:
    kitchen = Kitchen()
    kitchen.gate.clear()
    batcher = Batcher(kitchen.cook, limit=1, in_flight=1)
    calls = [asyncio.create_task(batcher.submit(n)) for n in range(3)]
    await turns()
    await batcher.close()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert kitchen.batches == [[0]]


def run_to_end(work: Callable[[], Awaitable[None]]) -> None:
    """Run in an event loop of its own, for hypothesis knows none."""

    async def main() -> None:
        await work()

    asyncio.run(main())


@given(
    limit=st.integers(1, 5),
    in_flight=st.integers(1, 3),
    pauses=st.lists(st.integers(0, 5), max_size=25),
    groups=st.integers(1, 3),
)
def test_everyone_is_answered_once_within_the_bounds(
    limit: int, in_flight: int, pauses: list[int], groups: int
) -> None:
    async def work() -> None:
        kitchen = Kitchen()
        batcher = Batcher(
            kitchen.cook, limit=limit, in_flight=in_flight, group=lambda n: n % groups
        )

        async def ask(n: int, pause: int) -> int:
            await turns(pause)
            return await batcher.submit(n)

        answers = await asyncio.gather(*(ask(n, pause) for n, pause in enumerate(pauses)))
        assert answers == [2 * n for n in range(len(pauses))]
        assert sorted(n for batch in kitchen.batches for n in batch) == list(range(len(pauses)))
        assert all(len(batch) <= limit for batch in kitchen.batches)
        assert all(len({n % groups for n in batch}) == 1 for batch in kitchen.batches)
        assert kitchen.busiest <= in_flight

    run_to_end(work)


@pytest.mark.parametrize("limit", [1, 3])
async def test_a_batcher_serves_again_after_a_pause(limit: int) -> None:
    batcher = Batcher(Kitchen().cook, limit=limit)
    for n in range(5):
        assert await batcher.submit(n) == 2 * n
        await turns()
