"""Leases as MongoDB filters and pipeline updates, all on the server's clock (`$$NOW`).

A lease is three fields of its search: `lease.owner`, `lease.expires` and `lease.generation`. A
search is free when `lease.expires` is null or past. `generation` grows at each claim and fences
off earlier holders: their writes match no document any more.
"""

from typing import Any

from graphwright.archive.port import Lease
from graphwright.search.search import SearchState

Filter = dict[str, Any]
Pipeline = list[dict[str, Any]]

UNFINISHED = [state.value for state in SearchState if not state.ended]

# In MongoDB's order of values null comes before every date, so a search never claimed is free too.
_FREE = {"$lte": ["$lease.expires", "$$NOW"]}

_GIVEN_BACK = {"owner": None, "expires": None, "generation": "$lease.generation"}


def claimable() -> Filter:
    """Unfinished searches that nobody holds."""
    return {"state": {"$in": UNFINISHED}, "$expr": _FREE}


def claim(owner: str, lease_seconds: float) -> Pipeline:
    """Make `owner` the holder for so long and open a generation."""
    lease = {
        "owner": {"$literal": owner},
        "expires": _later(lease_seconds),
        "generation": {"$add": ["$lease.generation", 1]},
    }
    return [{"$set": {"lease": lease}}]


def held(lease: Lease) -> Filter:
    """The search, if this lease was not given back or followed by another one."""
    return {
        "_id": lease.search_id,
        "lease.owner": lease.owner,
        "lease.generation": lease.generation,
    }


def renewable(lease: Lease) -> Filter:
    """The search, if this lease is held and has not run out."""
    return held(lease) | {"$expr": {"$not": _FREE}}


def renewal(lease_seconds: float) -> Pipeline:
    """Let the lease end so long after this moment."""
    return [{"$set": {"lease.expires": _later(lease_seconds)}}]


def given_back() -> Filter:
    """The fields of a plain update that end a lease."""
    return {"lease.owner": None, "lease.expires": None}


def cancellable(search_id: str) -> Filter:
    """The search, unless it has ended."""
    return {"_id": search_id, "state": {"$in": UNFINISHED}}


def cancellation() -> Pipeline:
    """Cancel a search that waits and is free; note the wish on any other.

    The lease of a cancelled search is taken away, so that a holder whose lease had run out cannot
    bring the search back to life.
    """
    at_once = {"$and": [{"$eq": ["$state", SearchState.PENDING.value]}, _FREE]}
    changes = {
        "state": {"$cond": [at_once, SearchState.CANCELLED.value, "$state"]},
        "updated_at": {"$cond": [at_once, "$$NOW", "$updated_at"]},
        "lease": {"$cond": [at_once, _GIVEN_BACK, "$lease"]},
        "cancel_requested": True,
    }
    return [{"$set": changes}]


def _later(seconds: float) -> dict[str, Any]:
    return {"$add": ["$$NOW", round(seconds * 1000)]}
