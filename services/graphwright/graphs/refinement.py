"""Colour refinement of directed acyclic graphs, a batch of colourings at a time.

A colouring is a vector of 64-bit hashes, one a node. A round gives every node a colour that
hashes its own and those of its predecessors and successors as multisets (Weisfeiler-Lehman);
rounds repeat until no cell of equal colours splits. Everything is invariant under renumbering.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Colours = npt.NDArray[np.uint64]
Matrix = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

# Odd constants of SplitMix64 and xxHash64: they keep the three sources of a colour apart.
_OWN, _BELOW, _ABOVE, _MIX_1, _MIX_2 = (
    np.uint64(constant)
    for constant in (
        0x9E3779B97F4A7C15,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0xBF58476D1CE4E5B9,
        0x94D049BB133111EB,
    )
)


def initial_colours(labels: Colours, ordinals: Colours) -> Colours:
    """Colours of nodes known by a label and an ordinal only."""
    return mix(labels * _OWN + ordinals * _BELOW + _ABOVE)


def individualised(colours: Colours, ordinals: Colours | int = 1) -> Colours:
    """Colours of their own for members of one cell, told apart by ordinals from 1 up."""
    return mix(colours + np.asarray(ordinals, dtype=np.uint64) * _OWN)


class Refiner:
    """Refines colourings of one graph, many at a time."""

    def __init__(self, adjacency: Matrix) -> None:
        """Lay out who reads whom, both ways; `adjacency` is (n, n)."""
        self._predecessors = _Neighbours.along(adjacency.T)
        self._successors = _Neighbours.along(adjacency)

    def refine(self, colours: Colours) -> Colours:
        """Stable refinements of a batch of colourings, shape (k, n)."""
        cells = cell_counts(colours)
        while True:
            spread = mix(colours)
            around = self._predecessors.sums(spread) * _BELOW
            around += mix(self._successors.sums(spread)) * _ABOVE
            finer = mix(colours * _OWN + around)
            found = cell_counts(finer)
            if np.array_equal(found, cells):
                return colours
            colours, cells = finer, found


@dataclass(frozen=True)
class _Neighbours:
    """The neighbours of all nodes one way, end to end, and where each node's begin and end."""

    members: Indices
    bounds: Indices

    @classmethod
    def along(cls, rows: Matrix) -> "_Neighbours":
        return cls(np.nonzero(rows)[1], np.append(0, np.cumsum(rows.sum(axis=1))))

    def sums(self, values: Colours) -> Colours:
        """(k, n) sums over neighbours, wrapping: of mixed colours these are multiset hashes."""
        running = np.zeros((len(values), len(self.members) + 1), dtype=np.uint64)
        np.cumsum(values[:, self.members], axis=1, out=running[:, 1:])
        ends: Colours = running[:, self.bounds]
        return ends[:, 1:] - ends[:, :-1]


def mix(values: Colours) -> Colours:
    """The finaliser of SplitMix64: every input bit reaches every output bit."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def cell_counts(colours: Colours) -> Indices:
    """(k,) number of different colours in each of k colourings."""
    ordered = np.sort(colours, axis=1)
    counts: Indices = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return counts


def smallest_tie(colours: Colours) -> Indices:
    """Members of the smallest cell that still holds several nodes; empty if none does."""
    values, counts = np.unique(colours, return_counts=True)
    if (tied := counts > 1).any():
        values, counts = values[tied], counts[tied]
        return np.flatnonzero(colours == values[np.argmin(counts)])
    return np.empty(0, dtype=np.intp)


def singled_out(before: Colours, after: Colours) -> Indices:
    """Nodes alone in their cell after but not before, in the order of their colours."""
    alone = np.flatnonzero((_cell_sizes(after) == 1) & (_cell_sizes(before) > 1))
    return alone[np.argsort(after[alone])]


def _cell_sizes(colours: Colours) -> Indices:
    _, cell, counts = np.unique(colours, return_inverse=True, return_counts=True)
    return counts[cell]
