"""What every archive must do with leases: one holder at a time, and it can be told."""

import asyncio

import pytest

from graphwright.archive.port import Archive, LeaseLost

from .archive_examples import a_search
from .archive_steps import (
    LONG,
    SHORT,
    Connect,
    claim,
    claim_eventually,
)


class LeasesSuite:
    """Claiming, renewing and releasing."""

    @pytest.fixture
    async def archive(self, connect: Connect) -> Archive:
        return await connect()

    async def test_oldest_unfinished_search_is_claimed_first(self, archive: Archive) -> None:
        ages = {(await archive.create_search(a_search(age=age))).id: age for age in (2, 9, 5)}
        claimed = [await claim(archive, f"planner-{i}") for i in range(3)]
        assert [ages[lease.search_id] for lease in claimed] == [9, 5, 2]
        assert await archive.claim("planner-3", LONG) is None

    async def test_each_search_is_claimed_once_under_concurrency(self, connect: Connect) -> None:
        archives = [await connect() for _ in range(4)]
        created = {(await archives[0].create_search(a_search())).id for _ in range(20)}
        leases = await asyncio.gather(
            *(archives[i % 4].claim(f"planner-{i}", LONG) for i in range(60))
        )
        held = [lease.search_id for lease in leases if lease is not None]
        assert sorted(held) == sorted(created)

    async def test_expired_lease_is_taken_over_with_a_higher_generation(
        self, archive: Archive
    ) -> None:
        await archive.create_search(a_search())
        first = await claim(archive, "dead", SHORT)
        assert await archive.claim("heir", LONG) is None
        second = await claim_eventually(archive, "heir")
        assert second.search_id == first.search_id
        assert second.generation > first.generation
        with pytest.raises(LeaseLost):
            await archive.renew(first, LONG)

    async def test_renewed_lease_outlives_its_first_term(self, archive: Archive) -> None:
        await archive.create_search(a_search())
        lease = await claim(archive, "planner", SHORT)
        assert await archive.renew(lease, LONG) is False
        await asyncio.sleep(2 * SHORT)
        assert await archive.claim("other", LONG) is None
        assert await archive.renew(lease, LONG) is False

    async def test_lease_that_ran_out_cannot_be_renewed(self, archive: Archive) -> None:
        await archive.create_search(a_search())
        lease = await claim(archive, "slow", SHORT)
        await asyncio.sleep(2 * SHORT)
        with pytest.raises(LeaseLost):
            await archive.renew(lease, LONG)

    async def test_released_search_is_claimed_by_another_at_once(self, archive: Archive) -> None:
        await archive.create_search(a_search())
        first = await claim(archive, "one")
        await archive.release(first)
        second = await claim(archive, "another")
        assert second.generation > first.generation

    async def test_releasing_a_lost_lease_leaves_the_new_holder_alone(
        self, archive: Archive
    ) -> None:
        await archive.create_search(a_search())
        lost = await claim(archive, "one")
        await archive.release(lost)
        held = await claim(archive, "another")
        await archive.release(lost)
        assert await archive.renew(held, LONG) is False
