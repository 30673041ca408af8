"""The archive port, which is the truth, and the call cache, which is not.

ArchiveError
├── SearchNotFound      no search has this id
├── LeaseLost           another planner holds the search
├── InvalidPageToken    the page token was not made by this archive
└── ArchiveUnavailable  the database does not answer
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graphwright.search.calls import Completion
from graphwright.search.messages import BatchGraded
from graphwright.search.search import Search, SearchState
from graphwright.search.trial import Trial

T = TypeVar("T")


class ArchiveError(Exception):
    """Root of the archive's errors."""


class SearchNotFound(ArchiveError):
    """No search has this id."""

    def __init__(self, search_id: str) -> None:
        super().__init__(f"no search has the id {search_id!r}")
        self.search_id = search_id


class LeaseLost(ArchiveError):
    """The lease on a search ran out or was taken over."""

    def __init__(self, search_id: str) -> None:
        super().__init__(f"the lease on search {search_id} is lost")
        self.search_id = search_id


class InvalidPageToken(ArchiveError):
    """The page token was not made by this archive."""


class ArchiveUnavailable(ArchiveError):
    """The database does not answer."""


@dataclass(frozen=True)
class Lease:
    """The right of one planner to advance a search; `generation` fences off its predecessors."""

    search_id: str
    owner: str
    generation: int


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a listing; an empty `next_token` ends it."""

    items: Sequence[T]
    next_token: str


class Archive(ABC):
    """Keeps searches and trials; every write is acknowledged by a majority and journaled."""

    @abstractmethod
    async def create_search(self, search: Search) -> Search:
        """Store a search, or return the one already stored under its request id."""

    @abstractmethod
    async def get_search(self, search_id: str) -> Search:
        """Raises SearchNotFound."""

    @abstractmethod
    async def list_searches(
        self, *, state: SearchState | None = None, page_size: int = 50, page_token: str = ""
    ) -> Page[Search]:
        """Searches, the youngest first. Raises InvalidPageToken."""

    @abstractmethod
    async def cancel_search(self, search_id: str) -> Search:
        """Ask for a search to end: a pending one is cancelled at once, a running one by its planner
        (see `renew`), an ended one stays as it is. Raises SearchNotFound."""

    @abstractmethod
    async def claim(self, owner: str, lease_seconds: float) -> Lease | None:
        """Take the oldest unfinished search that nobody holds (the database's clock decides)."""

    @abstractmethod
    async def renew(self, lease: Lease, lease_seconds: float) -> bool:
        """Prolong a lease; True means that cancellation was asked for. Raises LeaseLost."""

    @abstractmethod
    async def release(self, lease: Lease) -> None:
        """Give a search back, so that another planner may claim it at once."""

    @abstractmethod
    async def checkpoint(
        self,
        lease: Lease,
        search: Search,
        *,
        state: Mapping[str, Any],
        trials: Sequence[Trial] = (),
        keep_graded: bool = False,
    ) -> None:
        """In one transaction: store the search, the session's state and finished trials, and
        delete the graded batches they were made of, unless `keep_graded` says that these are
        still to be used. Raises LeaseLost and writes nothing then."""

    @abstractmethod
    async def session_state(self, search_id: str) -> Mapping[str, Any] | None:
        """The state of the last checkpoint, if there was one."""

    @abstractmethod
    async def save_graded(self, batch: BatchGraded) -> None:
        """Keep a graded batch until the next checkpoint; the same batch twice is kept once."""

    @abstractmethod
    async def graded_batches(self, search_id: str) -> Sequence[BatchGraded]:
        """The graded batches since the last checkpoint."""

    @abstractmethod
    async def list_trials(
        self, search_id: str, *, page_size: int = 100, page_token: str = ""
    ) -> Page[Trial]:
        """Trials in the order of their ids. Raises SearchNotFound, InvalidPageToken."""

    @abstractmethod
    async def ping(self) -> None:
        """Raises ArchiveUnavailable."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""


class CallCache(ABC):
    """Finished calls, shared by executors, bounded and expiring; losing it costs calls only."""

    @abstractmethod
    async def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """The completions that are known."""

    @abstractmethod
    async def store(self, completions: Mapping[str, Completion]) -> None:
        """Remember completions by call key; one already there stays."""
