"""The graph itself: what is refused, what is measured, what trimming drops."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from graphwright.graphs.graph import (
    MAX_NODES,
    DeadEnd,
    Edge,
    Graph,
    InvalidEdge,
    Node,
    RepeatedEdge,
    Role,
)


def nodes(count: int) -> tuple[Node, ...]:
    return tuple(Node(role=Role.ASSISTANT, model=f"m{index}") for index in range(count))


def graph(count: int, *edges: Edge) -> Graph:
    return Graph(nodes=nodes(count), edges=edges)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Nodes and ascending edges, not all of which need reach the last node."""
    count = draw(st.integers(1, 9))
    pairs = [(i, j) for j in range(count) for i in range(j)]
    edges = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    return nodes(count), tuple(edges)


def paths_to_sink(count: int, edges: tuple[Edge, ...]) -> set[int]:
    """Nodes from which a depth-first walk meets the last one."""

    def meets(node: int) -> bool:
        return node == count - 1 or any(meets(t) for s, t in edges if s == node)

    return {node for node in range(count) if meets(node)}


def cause(error: ValidationError) -> Exception:
    """The error that the validator raised, with its fields."""
    raised = error.errors()[0]["ctx"]["error"]
    assert isinstance(raised, Exception)
    return raised


@pytest.mark.parametrize("edge", [(1, 0), (1, 1), (0, 3), (-1, 1)])
def test_edges_must_ascend_within_the_graph(edge: Edge) -> None:
    with pytest.raises(ValidationError, match="must satisfy 0 <= source < target < 3") as raised:
        graph(3, (0, 1), (1, 2), edge)
    found = cause(raised.value)
    assert isinstance(found, InvalidEdge)
    assert found.edge == edge


def test_a_repeated_edge_is_named() -> None:
    with pytest.raises(ValidationError, match=r"edge \(0, 1\) is given more than once") as raised:
        graph(2, (0, 1), (0, 1))
    assert isinstance(cause(raised.value), RepeatedEdge)


def test_a_node_without_a_path_to_the_sink_is_named() -> None:
    with pytest.raises(ValidationError, match="node 1 has no path") as raised:
        graph(4, (0, 1), (0, 2), (2, 3))
    found = cause(raised.value)
    assert isinstance(found, DeadEnd)
    assert found.node == 1


def test_size_is_bounded() -> None:
    chain = [(index, index + 1) for index in range(MAX_NODES)]
    assert graph(MAX_NODES, *chain[:-1]).depth == MAX_NODES
    with pytest.raises(ValidationError, match="at most 256"):
        graph(MAX_NODES + 1, *chain)
    with pytest.raises(ValidationError, match="at least 1"):
        graph(0)


@pytest.mark.parametrize("model", ["", "x" * 129])
def test_a_model_name_has_1_to_128_characters(model: str) -> None:
    with pytest.raises(ValidationError, match="model"):
        Node(role=Role.FUSER, model=model)


def test_unknown_fields_and_assignment_are_refused() -> None:
    with pytest.raises(ValidationError, match="colour"):
        Graph.model_validate({"nodes": nodes(1), "edges": (), "colour": "red"})
    with pytest.raises(ValidationError, match="frozen"):
        graph(1).edges = ((0, 1),)  # type: ignore[misc]


def test_the_order_in_which_edges_are_given_is_immaterial() -> None:
    one, other = graph(3, (1, 2), (0, 2), (0, 1)), graph(3, (0, 1), (0, 2), (1, 2))
    assert one == other
    assert hash(one) == hash(other)
    assert one.edges == ((0, 1), (0, 2), (1, 2))


def test_predecessors_and_in_degrees() -> None:
    diamond = graph(4, (0, 1), (0, 2), (1, 3), (2, 3))
    assert [diamond.predecessors(index) for index in range(4)] == [(), (0,), (0,), (1, 2)]
    assert [diamond.in_degree(index) for index in range(4)] == [0, 1, 1, 2]
    assert diamond.sink == 3


@pytest.mark.parametrize(
    ("made", "depth", "width"),
    [
        (graph(1), 1, 1),
        (graph(4, (0, 1), (1, 2), (2, 3)), 4, 1),
        (graph(5, (0, 4), (1, 4), (2, 4), (3, 4)), 2, 4),
        # Node 1 is a root although it feeds the last step: levels count from the question.
        (graph(4, (0, 2), (1, 3), (2, 3)), 3, 2),
        (graph(6, (0, 2), (0, 3), (1, 4), (2, 5), (3, 5), (4, 5)), 3, 3),
    ],
)
def test_depth_and_width(made: Graph, depth: int, width: int) -> None:
    assert (made.depth, made.width) == (depth, width)


def test_models_are_counted() -> None:
    twice = (*nodes(2), *nodes(1))
    made = Graph(nodes=twice, edges=((0, 2), (1, 2)))
    assert made.models() == Counter({"m0": 2, "m1": 1})


def test_a_single_node_answers_alone() -> None:
    alone = Graph.single("m", Role.FUSER)
    assert alone.nodes == (Node(role=Role.FUSER, model="m"),)
    assert (alone.depth, alone.width, alone.sink, alone.edges) == (1, 1, 0, ())
    assert Graph.single("m").nodes[0].role is Role.ASSISTANT


@given(drafts())
@settings(max_examples=100)
def test_trimming_keeps_exactly_what_reaches_the_sink(
    draft: tuple[tuple[Node, ...], tuple[Edge, ...]],
) -> None:
    made, edges = draft
    kept = sorted(paths_to_sink(len(made), edges))
    trimmed = Graph.trimmed(made, edges)
    assert trimmed.nodes == tuple(made[index] for index in kept)
    named = {(kept[source], kept[target]) for source, target in trimmed.edges}
    assert named == {(s, t) for s, t in edges if s in kept and t in kept}


@given(drafts())
@settings(max_examples=50)
def test_trimming_twice_changes_nothing(draft: tuple[tuple[Node, ...], tuple[Edge, ...]]) -> None:
    once = Graph.trimmed(*draft)
    assert Graph.trimmed(once.nodes, once.edges) == once


@given(drafts())
@settings(max_examples=50)
def test_acyclic_with_one_sink_always(draft: tuple[tuple[Node, ...], tuple[Edge, ...]]) -> None:
    made = Graph.trimmed(*draft)
    assert all(source < target for source, target in made.edges)
    assert set(range(len(made.nodes))) - {source for source, _ in made.edges} == {made.sink}


@given(drafts())
@settings(max_examples=30)
def test_json_round_trip(draft: tuple[tuple[Node, ...], tuple[Edge, ...]]) -> None:
    made = Graph.trimmed(*draft)
    assert Graph.model_validate_json(made.model_dump_json()) == made


def test_trimming_refuses_descending_edges() -> None:
    with pytest.raises(InvalidEdge, match=r"edge \(1, 0\)"):
        Graph.trimmed(nodes(2), [(1, 0)])
