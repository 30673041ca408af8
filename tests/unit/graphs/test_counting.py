"""Sizes of the search space against published numbers."""

from itertools import permutations, product

import pytest

from graphwright.graphs.counting import collaboration_graphs, labelled_dags, unlabelled_dags


def test_labelled_dags_are_a003024() -> None:
    known = [1, 1, 3, 25, 543, 29281, 3781503, 1138779265, 783702329343]
    assert [labelled_dags(n) for n in range(9)] == known


def test_unlabelled_dags_are_a003087() -> None:
    assert [unlabelled_dags(n) for n in range(8)] == [1, 1, 2, 6, 31, 302, 5984, 243668]


def test_twelve_nodes_span_the_range_the_paper_states() -> None:
    """Section 1: from 10^18 (alike) to 10^26 (all different) graphs."""
    assert 1e18 < unlabelled_dags(12) < 2e18
    assert 1e26 < labelled_dags(12) < 1e27


@pytest.mark.parametrize("n", [5, 9, 16])
def test_numbering_matters_for_almost_every_graph(n: int) -> None:
    """n! x unlabelled >= labelled, with near equality for large n."""
    ratio: float = labelled_dags(n)
    for k in range(2, n + 1):
        ratio /= k
    assert ratio <= unlabelled_dags(n) < 4 * ratio


@pytest.mark.parametrize(("n", "colours"), [(1, 5), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2)])
def test_coloured_counts_equal_enumeration(n: int, colours: int) -> None:
    pairs = [(i, j) for j in range(n) for i in range(j)]
    classes = set()
    for taken in product((0, 1), repeat=len(pairs)):
        edges = [pair for pair, yes in zip(pairs, taken, strict=True) if yes]
        for kinds in product(range(colours), repeat=n):
            classes.add(
                min(
                    (tuple(kinds[p.index(i)] for i in range(n)),
                     tuple(sorted((p[s], p[t]) for s, t in edges)))
                    for p in permutations(range(n))
                )
            )  # fmt: skip
    assert unlabelled_dags(n, colours) == len(classes)


def test_collaboration_graphs_choose_a_role_and_a_model_per_node() -> None:
    assert collaboration_graphs(3, models=1) == 25 * 2**3
    assert collaboration_graphs(3, models=4) == 25 * 8**3
