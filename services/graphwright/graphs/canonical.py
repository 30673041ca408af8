"""A numbering of a labelled DAG that does not depend on how its nodes were numbered.

Colour refinement (Weisfeiler-Lehman over predecessors and successors) tells most nodes apart.
What it leaves tied is individualised: twins first and all together, then one member of a tied
cell at a time, keeping the members whose refined colouring is smallest. Members that remain are
usually images of one another under a symmetry that is found and checked on the spot; where none
is found the search branches and keeps the smallest adjacency matrix, as in McKay and Piperno,
"Practical graph isomorphism, II" (2014).

Colours are 64-bit hashes of structure. They only say where to look: the symmetries and the leaves
they lead to are compared exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphwright.graphs.refinement import (
    Colours,
    Indices,
    Matrix,
    Refiner,
    individualised,
    initial_colours,
    singled_out,
    smallest_tie,
)

# Beyond this many refinements a search only descends. Collaboration graphs need a few hundred;
# graphs built to defeat refinement would need exponentially many.
REFINEMENT_LIMIT = 20_000


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
    leaf = search.best_leaf(search.refined(initial_colours(tags, twins)[None, :])[0])
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[leaf.order] = np.arange(len(labels))
    return tuple(ranks.tolist())


@dataclass(frozen=True)
class _Leaf:
    """A fully resolved colouring: nodes in its order, and the graph as seen in that order."""

    order: Indices
    certificate: bytes


class _Search:
    """The tree of colourings of one graph."""

    def __init__(self, adjacency: Matrix, labels: Colours) -> None:
        self._adjacency, self._labels = adjacency, labels
        self._refiner, self._refinements = Refiner(adjacency), 0

    def refined(self, colours: Colours) -> Colours:
        """Stable refinements of a batch of colourings, shape (k, n), counted."""
        self._refinements += len(colours)
        return self._refiner.refine(colours)

    def best_leaf(self, colours: Colours) -> _Leaf:
        """The leaf with the smallest certificate below a stable colouring."""
        branches = self._branches(colours)
        if not len(branches):
            return self._leaf(colours)
        best = self.best_leaf(branches[0])
        seen = {best.certificate}
        for branch in branches[1:]:
            if self._refinements > REFINEMENT_LIMIT:
                break
            # A descent that ends in a graph seen before proves a symmetry: nothing else is here.
            if (probe := self._any_leaf(branch).certificate) not in seen:
                found = self.best_leaf(branch)
                seen |= {probe, found.certificate}
                best = min(best, found, key=lambda leaf: leaf.certificate)
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
        cell = smallest_tie(colours)
        if not len(cell):
            return np.empty((0, len(colours)), dtype=np.uint64)
        split = np.repeat(colours[None, :], len(cell), axis=0)
        split[np.arange(len(cell)), cell] = individualised(colours[cell])
        split = self.refined(split)
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

    def _resolved(self, colours: Colours, cell: Indices) -> Colours:
        ordered = colours.copy()
        ordinals = np.arange(1, len(cell) + 1, dtype=np.uint64)
        ordered[cell] = individualised(colours[cell], ordinals)
        return self.refined(ordered[None, :])

    def _symmetry(self, before: Colours, one: Colours, other: Colours) -> Indices | None:
        """A symmetry that turns colouring `one` into `other` and respects `before`, if seen.

        The guess: nodes that each colouring singled out map to one another by colour, and back
        where the two sets are apart; everything else stays.
        """
        mine, theirs = singled_out(before, one), singled_out(before, other)
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


def _twin_ordinals(labels: Sequence[int], adjacency: Matrix) -> list[int]:
    """Numbers nodes apart that share label, predecessors and successors: any order is as good."""
    seen: dict[tuple[int, bytes, bytes], int] = {}
    ordinals = []
    for index, label in enumerate(labels):
        key = (label, adjacency[index].tobytes(), adjacency[:, index].tobytes())
        ordinals.append(seen.get(key, 0))
        seen[key] = ordinals[-1] + 1
    return ordinals


def _swaps(image: Indices, cell: Indices, one: int, other: int) -> bool:
    """Whether the symmetry exchanges two members of the cell and leaves the rest in place."""
    moved = cell[image[cell] != cell]
    return bool(image[one] == other and image[other] == one and len(moved) == 2)
