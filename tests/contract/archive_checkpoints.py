"""What every archive must do with the progress of a search: all of it or nothing."""

import asyncio
from typing import Any

import pytest

from graphwright.archive.port import Archive, LeaseLost, SearchNotFound
from graphwright.search.search import SearchState

from .archive_examples import a_batch, a_result, a_search, a_trial
from .archive_steps import (
    LONG,
    SHORT,
    Connect,
    advanced,
    claim,
    claim_eventually,
    every_trial,
    everything,
    warmed_up,
)

TRICKY_STATE: dict[str, Any] = {
    "llama-3.1-8b": {"$set": {"a.b": 1}, "": [[], {}]},
    "generator": {"state": 2**127 + 1, "inc": -(2**100)},
    "edges": [2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 0, True, None],
    "floats": [0.1, 1e308, 5e-324, -0.0, 3.0],
    "text": "ünï\u0000code $",
}


class CheckpointsSuite:
    """Checkpoints, trials and graded batches."""

    @pytest.fixture
    async def archive(self, connect: Connect) -> Archive:
        return await connect()

    async def test_checkpoint_stores_search_state_and_trials_and_drops_graded_batches(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        await archive.save_graded(a_batch(search.id, "b1"))
        changed = advanced(search, iteration=4)
        trials = [a_trial(search.id, "t2"), a_trial(search.id, "t1")]
        await archive.checkpoint(lease, changed, state={"iteration": 4}, trials=trials)
        assert await archive.get_search(search.id) == changed
        assert await archive.session_state(search.id) == {"iteration": 4}
        assert list((await archive.list_trials(search.id)).items) == [trials[1], trials[0]]
        assert not await archive.graded_batches(search.id)

    async def test_checkpoint_keeps_graded_batches_that_are_still_to_be_used(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        await archive.save_graded(a_batch(search.id, "b1"))
        await archive.checkpoint(lease, advanced(search, 1), state={}, keep_graded=True)
        assert await archive.graded_batches(search.id) == [a_batch(search.id, "b1")]

    async def test_checkpoint_of_an_old_holder_is_refused_and_writes_nothing(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        old = await claim(archive, "planner", SHORT)
        held = await claim_eventually(archive, "planner")
        await archive.checkpoint(held, advanced(search, 1), state={"by": "heir"})
        await archive.save_graded(a_batch(search.id, "b1"))
        before = await everything(archive, search.id)
        with pytest.raises(LeaseLost) as caught:
            await archive.checkpoint(
                old, advanced(search, 9), state={"by": "old"}, trials=[a_trial(search.id, "t")]
            )
        assert caught.value.search_id == search.id
        assert await everything(archive, search.id) == before

    async def test_checkpoint_after_release_is_refused(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        await archive.release(lease)
        with pytest.raises(LeaseLost):
            await archive.checkpoint(lease, advanced(search, 1), state={})
        assert await archive.get_search(search.id) == search

    async def test_checkpoint_that_fails_halfway_writes_nothing(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        await archive.save_graded(a_batch(search.id, "b1"))
        before = await everything(archive, search.id)
        # No database stores half of a surrogate pair, and only trying tells.
        broken = a_trial(search.id, "t2").model_copy(update={"origin": "\ud800"})
        with pytest.raises(UnicodeError):
            await archive.checkpoint(
                lease, advanced(search, 1), state={}, trials=[a_trial(search.id, "t1"), broken]
            )
        assert await everything(archive, search.id) == before

    async def test_trial_already_there_stays_identical(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        first, later = a_trial(search.id, "t", score=0.25), a_trial(search.id, "t", score=0.75)
        await archive.checkpoint(lease, search, state={}, trials=[first])
        await archive.checkpoint(lease, search, state={}, trials=[later, a_trial(search.id, "u")])
        kept = (await archive.list_trials(search.id)).items
        assert [(trial.id, trial.score) for trial in kept] == [("t", 0.25), ("u", 0.5)]

    async def test_ended_search_loses_its_lease_and_is_not_claimed_again(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        ended = search.model_copy(update={"state": SearchState.SUCCEEDED, "result": a_result()})
        await archive.checkpoint(lease, ended, state={})
        assert await archive.get_search(search.id) == ended
        assert await archive.claim("other", LONG) is None
        with pytest.raises(LeaseLost):
            await archive.renew(lease, LONG)
        with pytest.raises(LeaseLost):
            await archive.checkpoint(lease, search, state={})

    async def test_state_makes_a_round_trip(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        assert await archive.session_state(search.id) is None
        lease = await claim(archive, "planner")
        await archive.checkpoint(lease, search, state=TRICKY_STATE)
        state = await archive.session_state(search.id)
        assert state == TRICKY_STATE
        assert repr(state) == repr(TRICKY_STATE)  # 3.0 is not 3, nor True 1

    async def test_trials_are_ordered_by_id_and_paged(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        ids = [f"{(7 * i) % 25:03d}" for i in range(25)]
        trials = [a_trial(search.id, trial_id) for trial_id in ids]
        await archive.checkpoint(lease, search, state={}, trials=trials)
        listed = await every_trial(archive, search.id, page_size=7)
        assert [trial.id for trial in listed] == sorted(ids)

    async def test_trial_listing_stays_stable_while_trials_arrive(self, archive: Archive) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        first = [a_trial(search.id, name) for name in ("b", "d", "f")]
        await archive.checkpoint(lease, search, state={}, trials=first)
        page = await archive.list_trials(search.id, page_size=2)
        late = [a_trial(search.id, name) for name in ("a", "c", "e")]
        await archive.checkpoint(lease, search, state={}, trials=late)
        rest = await archive.list_trials(search.id, page_token=page.next_token)
        assert [trial.id for trial in (*page.items, *rest.items)] == ["b", "d", "e", "f"]

    async def test_trials_of_searches_are_kept_apart(self, archive: Archive) -> None:
        searches = [await archive.create_search(a_search(age=9 - i)) for i in range(2)]
        for search in searches:
            lease = await claim(archive, "planner")
            trial = a_trial(lease.search_id, "same id")
            await archive.checkpoint(lease, search, state={"of": search.id}, trials=[trial])
        for search in searches:
            assert [t.search_id for t in await every_trial(archive, search.id)] == [search.id]

    async def test_trials_of_an_unknown_search_are_not_found(self, archive: Archive) -> None:
        with pytest.raises(SearchNotFound):
            await archive.list_trials("nobody")

    async def test_batch_graded_twice_is_kept_once_as_it_was_first(self, connect: Connect) -> None:
        archives = [await connect() for _ in range(4)]
        first = a_batch("s", "b", attempt=0, score=1.0)
        await archives[0].save_graded(first)
        again = a_batch("s", "b", attempt=1, score=0.0)
        await asyncio.gather(*(archives[i % 4].save_graded(again) for i in range(20)))
        assert await archives[1].graded_batches("s") == [first]

    async def test_batch_saved_by_twenty_at_once_is_kept_once(self, connect: Connect) -> None:
        archives = await warmed_up(connect, 4)
        for name in map(str, range(15)):
            batch = a_batch(name, "b")
            await asyncio.gather(*(archives[i % 4].save_graded(batch) for i in range(20)))
            assert await archives[0].graded_batches(name) == [batch]

    async def test_checkpoint_leaves_graded_batches_of_other_searches(
        self, archive: Archive
    ) -> None:
        search = await archive.create_search(a_search())
        lease = await claim(archive, "planner")
        await archive.save_graded(a_batch(search.id, "b"))
        await archive.save_graded(a_batch("another", "b"))
        await archive.checkpoint(lease, search, state={})
        assert not await archive.graded_batches(search.id)
        assert await archive.graded_batches("another") == [a_batch("another", "b")]
