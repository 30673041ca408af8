"""A numbering of a labelled DAG that does not depend on how its nodes were numbered.

Colour refinement (Weisfeiler-Lehman over predecessors and successors) tells most nodes apart.
What it leaves tied is individualised: twins first and all together, then one member of a tied
cell at a time, keeping the members whose refined colouring is smallest. Members that remain are
usually images of one another under a symmetry that is found and checked on the spot; where none
is found the search branches and keeps the smallest adjacency matrix, as in McKay and Piperno,
"Practical graph isomorphism, II" (2014).

Colours are 64-bit hashes of structure; a collision could cost time, never a wrong result,
because symmetries and leaves are compared exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Colours = npt.NDArray[np.uint64]
Matrix = npt.NDArray[np.bool_]

# Beyond this many refinements a search only descends. Collaboration graphs need a few hundred;
# graphs built to defeat refinement would need exponentially many.
REFINEMENT_LIMIT = 5000

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


def canonical_ranks(labels: Sequence[int], edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Rank of every node in the canonical order of a DAG whose nodes carry integer labels.

    Two numberings of one DAG give the same ranks up to a symmetry of the DAG. Edges are pairs of
    node numbers; labels that are equal across numberings must be equal integers.
    """
    adjacency = np.zeros((len(labels), len(labels)), dtype=np.bool_)
    for source, target in edges:
        adjacency[source, target] = True
    tags = np.array(labels, dtype=np.uint64)
    twins = np.array(_twin_ordinals(labels, adjacency), dtype=np.uint64)
    search = _Search(adjacency, tags)
    leaf = search.best_leaf(search.refine(_mix(tags * _OWN + twins * _BELOW + _ABOVE)[None, :])[0])
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[leaf.order] = np.arange(len(labels))
    return tuple(ranks.tolist())


@dataclass(frozen=True)
class _Leaf:
    """A fully resolved colouring: nodes in its order, and the graph as seen in that order."""

    order: npt.NDArray[np.intp]
    certificate: bytes


class _Search:
    """The tree of colourings of one graph."""

    def __init__(self, adjacency: Matrix, labels: Colours) -> None:
        self._adjacency, self._labels = adjacency, labels
        self._below = adjacency.astype(np.uint64)
        self._above = np.ascontiguousarray(self._below.T)
        self._refinements = 0

    def refine(self, colours: Colours) -> Colours:
        """Stable refinements of a batch of colourings, shape (k, n)."""
        self._refinements += len(colours)
        cells = _cell_counts(colours)
        while True:
            spread = _mix(colours)
            around = (spread @ self._below) * _BELOW + _mix(spread @ self._above) * _ABOVE
            finer = _mix(colours * _OWN + around)
            found = _cell_counts(finer)
            if np.array_equal(found, cells):
                return colours
            colours, cells = finer, found

    def best_leaf(self, colours: Colours) -> _Leaf:
        """The leaf with the smallest certificate below a stable colouring."""
        branches = self._branches(colours)
        if not len(branches):
            return self._leaf(colours)
        best = self.best_leaf(branches[0])
        for branch in branches[1:]:
            if self._refinements > REFINEMENT_LIMIT:
                break
            # A descent that ends in the same graph proves a symmetry: nothing else lies there.
            if self._any_leaf(branch).certificate != best.certificate:
                best = min(best, self.best_leaf(branch), key=lambda leaf: leaf.certificate)
        return best

    def _any_leaf(self, colours: Colours) -> _Leaf:
        while len(branches := self._branches(colours)):
            colours = branches[0]
        return self._leaf(colours)

    def _leaf(self, colours: Colours) -> _Leaf:
        order = np.argsort(colours, kind="stable")
        seen = self._adjacency[np.ix_(order, order)]
        labels = self._labels[order].astype(">u8")
        return _Leaf(order, labels.tobytes() + np.packbits(seen).tobytes())

    def _branches(self, colours: Colours) -> Colours:
        """Stable colourings one step down that are not known to be symmetric; none at a leaf."""
        cell = _smallest_tie(colours)
        if not len(cell):
            return np.empty((0, len(colours)), dtype=np.uint64)
        split = np.repeat(colours[None, :], len(cell), axis=0)
        split[np.arange(len(cell)), cell] = _mix(split[np.arange(len(cell)), cell] + _OWN)
        split = self.refine(split)
        keys = [row.astype(">u8").tobytes() for row in np.sort(split, axis=1)]
        smallest = [row for row, key in enumerate(keys) if key == min(keys)]
        first, *others = smallest
        images = {row: self._symmetry(colours, split[first], split[row]) for row in others}
        if len(smallest) == len(cell) and all(
            image is not None and _swaps(image, cell, int(cell[first]), int(cell[row]))
            for row, image in images.items()
        ):
            # Every permutation of the cell is a symmetry: any order of its members will do.
            return self._resolved(colours, cell)
        return split[[first, *(row for row in others if images[row] is None)]]

    def _resolved(self, colours: Colours, cell: npt.NDArray[np.intp]) -> Colours:
        ordered = colours.copy()
        ordered[cell] = _mix(ordered[cell] + np.arange(1, len(cell) + 1, dtype=np.uint64) * _OWN)
        return self.refine(ordered[None, :])

    def _symmetry(
        self, before: Colours, one: Colours, other: Colours
    ) -> npt.NDArray[np.intp] | None:
        """A symmetry that turns colouring `one` into `other` and respects `before`, if seen.

        The guess: nodes that each colouring singled out map to one another by colour, and back
        where the two sets are apart; everything else stays.
        """
        mine, theirs = _singled_out(before, one), _singled_out(before, other)
        image = np.arange(len(before))
        if set(mine.tolist()).isdisjoint(theirs.tolist()):
            image[theirs] = mine
        elif set(mine.tolist()) != set(theirs.tolist()):
            return None
        image[mine] = theirs
        kept = np.array_equal(before[image], before) and np.array_equal(
            self._adjacency[np.ix_(image, image)], self._adjacency
        )
        return image if kept else None


def _mix(values: Colours) -> Colours:
    """The finaliser of SplitMix64: every input bit reaches every output bit."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def _twin_ordinals(labels: Sequence[int], adjacency: Matrix) -> list[int]:
    """Numbers nodes apart that share label, predecessors and successors: any order is as good."""
    seen: dict[tuple[int, bytes, bytes], int] = {}
    ordinals = []
    for index, label in enumerate(labels):
        key = (label, adjacency[index].tobytes(), adjacency[:, index].tobytes())
        ordinals.append(seen.get(key, 0))
        seen[key] = ordinals[-1] + 1
    return ordinals


def _cell_counts(colours: Colours) -> npt.NDArray[np.intp]:
    ordered = np.sort(colours, axis=1)
    counts: npt.NDArray[np.intp] = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return counts


def _smallest_tie(colours: Colours) -> npt.NDArray[np.intp]:
    """Members of the smallest cell that still holds several nodes; empty if none does."""
    values, counts = np.unique(colours, return_counts=True)
    if (tied := counts > 1).any():
        values, counts = values[tied], counts[tied]
        return np.flatnonzero(colours == values[np.argmin(counts)])
    return np.empty(0, dtype=np.intp)


def _singled_out(before: Colours, after: Colours) -> npt.NDArray[np.intp]:
    """Nodes alone in their cell after but not before, in the order of their colours."""
    alone = np.flatnonzero(_cell_sizes(after) < np.minimum(_cell_sizes(before), 2))
    return alone[np.argsort(after[alone])]


def _cell_sizes(colours: Colours) -> npt.NDArray[np.intp]:
    _, cell, counts = np.unique(colours, return_inverse=True, return_counts=True)
    return counts[cell]


def _swaps(image: npt.NDArray[np.intp], cell: npt.NDArray[np.intp], one: int, other: int) -> bool:
    """Whether the symmetry exchanges two members of the cell and leaves the rest in place."""
    moved = cell[image[cell] != cell]
    return bool(image[one] == other and image[other] == one and len(moved) == 2)
