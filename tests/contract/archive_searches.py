"""What every archive must do with searches: create, list, cancel."""

import asyncio

import pytest

from graphwright.archive.port import Archive, InvalidPageToken, LeaseLost, SearchNotFound
from graphwright.search.search import SearchState

from .archive_examples import a_search
from .archive_steps import (
    LONG,
    SHORT,
    Connect,
    advanced,
    claim,
    every_search,
    warmed_up,
)


class SearchesSuite:
    """Searches, their listing and their cancellation."""

    @pytest.fixture
    async def archive(self, connect: Connect) -> Archive:
        return await connect()

    async def test_search_is_read_as_it_was_created(self, archive: Archive) -> None:
        search = a_search(seed=2**63 - 1)
        assert await archive.create_search(search) == search
        assert await archive.get_search(search.id) == search

    async def test_unknown_search_is_not_found(self, archive: Archive) -> None:
        with pytest.raises(SearchNotFound) as caught:
            await archive.get_search("nobody")
        assert caught.value.search_id == "nobody"

    async def test_creating_is_idempotent_under_fifty_concurrent_calls(
        self, connect: Connect
    ) -> None:
        archives = await warmed_up(connect, 5)
        for number in range(15):
            attempts = [a_search(request_id=f"the same {number}") for _ in range(50)]
            stored = await asyncio.gather(
                *(archives[i % 5].create_search(search) for i, search in enumerate(attempts))
            )
            assert len({search.id for search in stored}) == 1
            assert len((await archives[0].list_searches()).items) == number + 1

    async def test_searches_are_listed_youngest_first_page_by_page(self, archive: Archive) -> None:
        searches = [await archive.create_search(a_search(age=age)) for age in (3, 1, 1, 4, 1, 5, 1)]
        listed = await every_search(archive, page_size=2)
        assert sorted(listed, key=lambda s: (s.created_at, s.id), reverse=True) == listed
        assert {search.id for search in listed} == {search.id for search in searches}

    async def test_listing_stays_stable_while_searches_arrive(self, archive: Archive) -> None:
        before = {(await archive.create_search(a_search(age=age))).id for age in range(10, 16)}
        seen: list[str] = []
        token = ""
        while True:
            page = await archive.list_searches(page_size=2, page_token=token)
            seen += [search.id for search in page.items]
            await archive.create_search(a_search(age=0))
            token = page.next_token
            if not token:
                break
        assert sorted(seen) == sorted(before)

    async def test_searches_are_listed_by_state(self, archive: Archive) -> None:
        waiting = await archive.create_search(a_search())
        cancelled = await archive.create_search(a_search())
        await archive.cancel_search(cancelled.id)
        for state, wanted in ((SearchState.PENDING, waiting), (SearchState.CANCELLED, cancelled)):
            page = await archive.list_searches(state=state)
            assert [search.id for search in page.items] == [wanted.id]
        assert not (await archive.list_searches(state=SearchState.FAILED)).items

    @pytest.mark.parametrize("token", ["x", "AAAA", "ünï", "WyJzZWFyY2hlczoiLCAxXQ", "-" * 5000])
    async def test_invented_page_token_is_refused(self, archive: Archive, token: str) -> None:
        search = await archive.create_search(a_search())
        with pytest.raises(InvalidPageToken):
            await archive.list_searches(page_token=token)
        with pytest.raises(InvalidPageToken):
            await archive.list_trials(search.id, page_token=token)

    async def test_page_token_of_another_listing_is_refused(self, archive: Archive) -> None:
        for _ in range(2):
            await archive.create_search(a_search())
        token = (await archive.list_searches(page_size=1)).next_token
        with pytest.raises(InvalidPageToken):
            await archive.list_searches(state=SearchState.PENDING, page_token=token)

    async def test_waiting_search_is_cancelled_at_once(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        cancelled = await archive.cancel_search(search.id)
        assert cancelled.state is SearchState.CANCELLED
        assert cancelled.updated_at > search.updated_at
        assert await archive.get_search(search.id) == cancelled
        assert await archive.claim("planner", LONG) is None

    async def test_holder_learns_of_a_cancellation_when_it_renews(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        await archive.checkpoint(lease, advanced(search, 1), state={})
        assert (await archive.cancel_search(search.id)).state is SearchState.RUNNING
        assert await archive.renew(lease, LONG) is True
        await archive.checkpoint(lease, advanced(search, 2), state={})
        assert await archive.renew(lease, LONG) is True

    async def test_claimed_search_that_has_not_begun_is_left_to_its_holder(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        assert (await archive.cancel_search(search.id)).state is SearchState.PENDING
        assert await archive.renew(lease, LONG) is True

    async def test_wish_to_cancel_outlives_the_holder_that_did_not_hear_it(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "dead")
        await archive.cancel_search(search.id)
        await archive.release(lease)
        heir = await claim(archive, "heir")
        assert await archive.renew(heir, LONG) is True

    async def test_holder_whose_lease_ran_out_cannot_revive_a_cancelled_search(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "slow", SHORT)
        await asyncio.sleep(2 * SHORT)
        assert (await archive.cancel_search(search.id)).state is SearchState.CANCELLED
        with pytest.raises(LeaseLost):
            await archive.checkpoint(lease, advanced(search, 1), state={})

    async def test_ended_search_stays_as_it_is_when_cancelled(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        failed = search.model_copy(update={"state": SearchState.FAILED, "error": "$oops"})
        await archive.checkpoint(lease, failed, state={})
        assert await archive.cancel_search(search.id) == failed

    async def test_cancelling_an_unknown_search_is_not_found(self, archive: Archive) -> None:
        with pytest.raises(SearchNotFound):
            await archive.cancel_search("nobody")

    async def test_reachable_archive_answers_a_ping(self, archive: Archive) -> None:
        await archive.ping()
