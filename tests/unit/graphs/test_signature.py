"""Signatures name what a node is, whatever number it was given."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.graphs.counting import unlabelled_dags
from graphwright.graphs.graph import Edge, Graph, Node, Role
from graphwright.graphs.signature import graph_hash, signatures

TEMPLATES = {Role.ASSISTANT: "a1", Role.FUSER: "f1"}


def alike(count: int, edges: Sequence[Edge], role: Role = Role.ASSISTANT) -> Graph:
    """A graph of identical nodes."""
    return Graph.trimmed([Node(role=role, model="m")] * count, edges)


def renumbered(graph: Graph, rng: np.random.Generator) -> tuple[Graph, list[int]]:
    """The same graph in another random topological order, and the new number of each node."""
    waiting = [graph.in_degree(index) for index in range(len(graph.nodes))]
    ready = [index for index, degree in enumerate(waiting) if degree == 0]
    order: list[int] = []
    while ready:
        order.append(ready.pop(int(rng.integers(len(ready)))))
        for source, target in graph.edges:
            if source == order[-1]:
                waiting[target] -= 1
                ready += [target] if waiting[target] == 0 else []
    number = [order.index(index) for index in range(len(order))]
    edges = tuple((number[source], number[target]) for source, target in graph.edges)
    return Graph(nodes=tuple(graph.nodes[index] for index in order), edges=edges), number


def assert_same_up_to_numbering(one: Graph, other: Graph, templates: Mapping[Role, str]) -> None:
    """Equal signatures pair the nodes off so that roles, models and edges agree."""
    mine, theirs = signatures(one, templates), signatures(other, templates)
    assert len(set(mine)) == len(mine)
    assert sorted(mine) == sorted(theirs)
    for index, node in enumerate(one.nodes):
        twin = theirs.index(mine[index])
        assert other.nodes[twin] == node
        sources = {mine[source] for source in one.predecessors(index)}
        assert sources == {theirs[source] for source in other.predecessors(twin)}


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Few kinds of nodes and many edges, so that siblings abound."""
    count = draw(st.integers(1, 9))
    kinds = [Node(role=role, model=m) for role in Role for m in "ab"][: draw(st.integers(1, 4))]
    nodes = draw(st.lists(st.sampled_from(kinds), min_size=count, max_size=count))
    edges = [(i, j) for j in range(count) for i in range(j) if draw(st.booleans())]
    return Graph.trimmed(nodes, edges)


@given(graphs(), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_invariant_under_topological_renumbering(graph: Graph, seed: int) -> None:
    other, _ = renumbered(graph, np.random.default_rng(seed))
    assert_same_up_to_numbering(graph, other, TEMPLATES)
    assert graph_hash(graph, TEMPLATES) == graph_hash(other, TEMPLATES)


def incidence(points: int, lines: Sequence[tuple[int, int]]) -> Graph:
    """Points are roots, every line is a node that reads its two points, the sink reads lines."""
    edges = [(p, points + number) for number, line in enumerate(lines) for p in line]
    sink = points + len(lines)
    return alike(sink + 1, edges + [(points + number, sink) for number in range(len(lines))])


def cycles(*sizes: int) -> Graph:
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    lines = [
        (start + step, start + (step + 1) % size)
        for start, size in zip(starts, sizes, strict=True)
        for step in range(size)
    ]
    return incidence(sum(sizes), lines)


def grid(adjacent: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Lines between the points of a 4 x 4 torus whose offsets are adjacent."""
    spots = list(product(range(4), repeat=2))
    return [
        (i, j)
        for j, (c, d) in enumerate(spots)
        for i, (a, b) in enumerate(spots[:j])
        if adjacent((a - c) % 4, (b - d) % 4)
    ]


def rook(across: int, down: int) -> bool:
    return (across == 0) != (down == 0)


def shrikhande(across: int, down: int) -> bool:
    return (across, down) in {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}


def branches(count: int, length: int) -> Graph:
    edges = [(i, i + count) for i in range(count * (length - 1))]
    last = [(count * (length - 1) + index, count * length) for index in range(count)]
    return alike(count * length + 1, edges + last)


def layers(count: int, size: int) -> Graph:
    """Every node reads the whole layer before its own."""
    edges = [(i, j) for j in range(size, count * size) for i in range(j // size * size)[-size:]]
    last = [(index, count * size) for index in range((count - 1) * size, count * size)]
    return alike(count * size + 1, edges + last)


def crossed_pairs(count: int) -> Graph:
    """Pairs of refining chains whose ends also read the other chain's root."""
    pair = [(0, 2), (1, 3), (2, 4), (3, 5), (1, 4), (0, 5)]
    edges = [(6 * k + source, 6 * k + target) for k in range(count) for source, target in pair]
    ends = [(6 * k + end, 6 * count) for k in range(count) for end in (4, 5)]
    return alike(6 * count + 1, edges + ends)


ROOK, SHRIKHANDE = grid(rook), grid(shrikhande)

SYMMETRIC = {
    "square": cycles(4),
    "ring": cycles(9),
    "unequal rings": cycles(3, 4, 5, 4),
    "equal rings": cycles(4, 4, 4),
    "crossed pairs": crossed_pairs(3),
    "branches": branches(8, 3),
    "layers": layers(3, 4),
    "rook's graph": incidence(16, ROOK),
    "Shrikhande graph": incidence(16, SHRIKHANDE),
    # The points of the two halves stay tied even after one of them is singled out.
    "both": incidence(32, ROOK + [(i + 16, j + 16) for i, j in SHRIKHANDE]),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_invariant_for_graphs_that_refinement_leaves_tied(name: str) -> None:
    for seed in range(3):
        other, _ = renumbered(SYMMETRIC[name], np.random.default_rng(seed))
        assert_same_up_to_numbering(SYMMETRIC[name], other, TEMPLATES)


def test_tells_apart_what_refinement_cannot() -> None:
    """Neither degrees nor, for the pair of strongly regular graphs, a first choice differ."""
    assert graph_hash(cycles(6)) != graph_hash(cycles(3, 3))
    assert graph_hash(incidence(16, ROOK)) != graph_hash(incidence(16, SHRIKHANDE))


@pytest.mark.parametrize(("n", "kinds"), [(3, 1), (4, 1), (5, 1), (3, 2), (3, 3)])
def test_hashes_are_as_many_as_unlabelled_graphs(n: int, kinds: int) -> None:
    """Joining every node to a sink makes each acyclic graph a collaboration graph."""
    pairs = [(i, j) for j in range(n) for i in range(j)]
    found = set()
    for chosen in product((False, True), repeat=len(pairs)):
        edges = [pair for pair, taken in zip(pairs, chosen, strict=True) if taken]
        edges += [(index, n) for index in range(n)]
        for models in product("abc"[:kinds], repeat=n):
            nodes = [Node(role=Role.FUSER, model=model) for model in (*models, "sink")]
            found.add(graph_hash(Graph.trimmed(nodes, edges)))
    assert len(found) == unlabelled_dags(n, colours=kinds)


def test_two_and_three_identical_roots_share_two_draws() -> None:
    two, three = alike(3, [(0, 2), (1, 2)]), alike(4, [(0, 3), (1, 3), (2, 3)])
    assert set(signatures(two, {})[:2]) < set(signatures(three, {})[:3])
    assert graph_hash(two) != graph_hash(three)


def test_a_root_keeps_its_signature_wherever_it_stands() -> None:
    chain = alike(3, [(0, 1), (1, 2)])
    assert signatures(chain, TEMPLATES)[0] == signatures(Graph.single("m"), TEMPLATES)[0]
    assert signatures(chain, TEMPLATES)[1] == signatures(alike(2, [(0, 1)]), TEMPLATES)[1]


def test_role_model_and_template_all_count() -> None:
    plain = graph_hash(Graph.single("m"), TEMPLATES)
    assert graph_hash(Graph.single("m", Role.FUSER), TEMPLATES) != plain
    assert graph_hash(Graph.single("n"), TEMPLATES) != plain
    assert graph_hash(Graph.single("m"), {**TEMPLATES, Role.ASSISTANT: "a2"}) != plain
    assert graph_hash(Graph.single("m"), {**TEMPLATES, Role.FUSER: "f2"}) == plain


def test_a_template_change_reaches_its_role_and_what_reads_it() -> None:
    roles = (Role.ASSISTANT, Role.FUSER, Role.ASSISTANT)
    chain = Graph(nodes=tuple(Node(role=role, model="m") for role in roles), edges=((0, 1), (1, 2)))
    before = signatures(chain, TEMPLATES)
    after = signatures(chain, {**TEMPLATES, Role.FUSER: "f2"})
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]


def test_signatures_never_change_between_versions() -> None:
    """Seeds and cached calls hang on them: a change here orphans every archive."""
    graph = Graph(
        nodes=(
            Node(role=Role.ASSISTANT, model="small"),
            Node(role=Role.ASSISTANT, model="small"),
            Node(role=Role.ASSISTANT, model="small"),
            Node(role=Role.FUSER, model="großes-modell"),
        ),
        edges=((0, 2), (1, 3), (2, 3)),
    )
    assert [digest[:8] for digest in signatures(graph, TEMPLATES)] == [
        "6aff86d2",
        "f9ef7256",
        "354bbab2",
        "59f8d005",
    ]


@pytest.mark.parametrize(
    "graph",
    [
        alike(96, [(index, 95) for index in range(95)]),
        alike(96, [(index, index + 1) for index in range(95)]),
        alike(96, [(i, j) for j in range(96) for i in range(j)]),
        branches(31, 3),
        cycles(16, 16, 15),
    ],
    ids=["roots", "chain", "complete", "branches", "rings"],
)
def test_quick_at_ninety_six_nodes(graph: Graph) -> None:
    """Typically 1 to 10 ms (rings: 300 ms); the bound only catches an explosion."""
    start = perf_counter()
    signatures(graph, TEMPLATES)
    assert perf_counter() - start < 5
