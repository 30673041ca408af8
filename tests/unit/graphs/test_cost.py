"""Costs against the paper's formulas and numbers, and feasibility against enumeration."""

from collections import Counter
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from graphwright.graphs.cost import (
    CostModel,
    DollarCost,
    DuplicateModelError,
    FlopsCost,
    ModelSpec,
    NoUnitError,
    TaskLengths,
    UnknownModelError,
    cheapest_connected_cost,
    maximum_nodes,
)
from graphwright.graphs.graph import Edge, Graph, Node, Role

LLAMA = (
    ModelSpec(name="1B", family="llama", parameters=1e9, layers=16, hidden_size=2048,
              usd_per_million_input=0.02, usd_per_million_output=0.02),
    ModelSpec(name="3B", family="llama", parameters=3e9, layers=28, hidden_size=3072,
              usd_per_million_input=0.06, usd_per_million_output=0.06),
    ModelSpec(name="8B", family="llama", parameters=8e9, layers=32, hidden_size=4096,
              usd_per_million_input=0.18, usd_per_million_output=0.18),
)  # fmt: skip
MATH = TaskLengths(prompt=202, output=275)
MMLU = TaskLengths(prompt=213, output=230)
FLOPS, DOLLARS = FlopsCost(LLAMA, MATH), DollarCost(LLAMA, MMLU)

positive = st.floats(1, 1e4)
specs = st.builds(
    ModelSpec,
    name=st.just("m"),
    family=st.just("f"),
    parameters=st.floats(1e3, 1e12),
    layers=st.integers(1, 200),
    hidden_size=st.integers(1, 20000),
    usd_per_million_input=st.floats(0.001, 100),
    usd_per_million_output=st.floats(0.001, 100),
)


def graph(models: str, *edges: Edge) -> Graph:
    """Assistants of these model sizes, in billions."""
    nodes = tuple(Node(role=Role.ASSISTANT, model=f"{size}B") for size in models)
    return Graph(nodes=nodes, edges=edges)


def test_the_math_unit_of_the_paper() -> None:
    """A.5 lengths, nominal 1B: 2 (M + LD) (A + B) + 2 LD (A + B)^2 with A + B = 477."""
    assert pytest.approx(9.689e11, rel=1e-4) == FLOPS.unit
    assert FLOPS.unit == 2 * (1e9 + 16 * 2048) * 477 + 2 * 16 * 2048 * 477**2
    assert FLOPS.cheapest_model == "1B"


@given(specs, positive, positive, st.integers(0, 255))
@settings(max_examples=100)
def test_quadratic_form_equals_direct_form(
    spec: ModelSpec, prompt: float, output: float, degree: int
) -> None:
    """Theorem 1 for FLOPs, and the linear form for dollars."""
    lengths = TaskLengths(prompt=prompt, output=output)
    for cost in (FlopsCost([spec], lengths), DollarCost([spec], lengths)):
        alpha, beta, gamma = cost.quadratic_coefficients("m")
        direct = cost.node_cost("m", degree)
        assert alpha * degree**2 + beta * degree + gamma == pytest.approx(direct, rel=1e-9)


def test_prefill_and_decode_count_every_attended_token() -> None:
    """A tiny node summed token by token: 2M a token and 4LD a pair of attending tokens."""
    spec = ModelSpec(name="m", family="f", parameters=1000, layers=2, hidden_size=3)
    cost = FlopsCost([spec], TaskLengths(prompt=5, output=4))
    read = 5 + 2 * 4
    pairs = sum(range(1, read + 1)) + sum(read + t for t in range(1, 4 + 1))
    assert cost.node_cost("m", 2) == 2 * 1000 * (read + 4) + 4 * 2 * 3 * pairs


def test_a_graph_costs_the_sum_of_its_nodes() -> None:
    made = graph("1338", (0, 2), (1, 2), (0, 3), (2, 3))
    parts = [("1B", 0), ("3B", 0), ("3B", 2), ("8B", 2)]
    assert FLOPS.graph_cost(made) == pytest.approx(sum(FLOPS.node_cost(*part) for part in parts))
    assert FLOPS.units(made) == FLOPS.graph_cost(made) / FLOPS.unit
    assert FLOPS.units(Graph.single("1B")) == 1


def test_the_dollar_budget_of_the_paper_holds_without_edges_only() -> None:
    """Section 6: $5E-4 is said to admit 6 x 8B; six MMLU calls do, but not once connected."""
    alone = 6 * DOLLARS.node_cost("8B", 0)
    assert alone == pytest.approx(6 * 0.18e-6 * (213 + 230))
    assert alone < 5e-4
    assert cheapest_connected_cost(DOLLARS, ["8B"] * 6) > 5e-4
    assert cheapest_connected_cost(DOLLARS, ["8B"] * 4) < 5e-4


def test_input_and_output_are_priced_apart() -> None:
    spec = LLAMA[0].model_copy(
        update={"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}
    )
    cost = DollarCost([spec], TaskLengths(prompt=100, output=20))
    assert cost.node_cost("1B", 3) == pytest.approx((100 + 3 * 20) * 1e-6 + 20 * 10e-6)


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(UnknownModelError, match="'70B' is unknown") as raised:
        FLOPS.graph_cost(graph("1").model_copy(update={"nodes": Graph.single("70B").nodes}))
    assert raised.value.model == "70B"
    assert isinstance(raised.value, KeyError)
    with pytest.raises(UnknownModelError):
        DOLLARS.quadratic_coefficients("70B")


def test_a_pool_needs_a_unit_and_distinct_names() -> None:
    with pytest.raises(NoUnitError, match="there is no model"):
        FlopsCost([], MATH)
    free = LLAMA[0].model_copy(
        update={"name": "free", "usd_per_million_input": 0.0, "usd_per_million_output": 0.0}
    )
    with pytest.raises(NoUnitError, match="'free' costs nothing"):
        DollarCost([*LLAMA, free], MATH)
    with pytest.raises(DuplicateModelError, match="'1B'"):
        FlopsCost([LLAMA[0], LLAMA[0]], MATH)


@pytest.mark.parametrize(
    ("field", "value"),
    [("parameters", 0), ("parameters", float("inf")), ("layers", 0), ("usd_per_million_input", -1)],
)
def test_impossible_specifications_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValidationError, match=field):
        ModelSpec.model_validate({**LLAMA[0].model_dump(), field: value})


def every_connected_graph_cost(cost: CostModel, multiset: tuple[str, ...]) -> float:
    """Least cost over all graphs on these models in every order, by enumeration."""
    count = len(multiset)
    pairs = [(i, j) for j in range(count) for i in range(j)]
    best = float("inf")
    for taken in product((False, True), repeat=len(pairs)):
        edges = tuple(pair for pair, yes in zip(pairs, taken, strict=True) if yes)
        if {source for source, _ in edges} == set(range(count - 1)):
            for order in set(permutations(multiset)):
                nodes = tuple(Node(role=Role.FUSER, model=model) for model in order)
                best = min(best, cost.graph_cost(Graph(nodes=nodes, edges=edges)))
    return best


@pytest.mark.parametrize("cost", [FLOPS, DOLLARS], ids=["flops", "dollars"])
@pytest.mark.parametrize(
    "multiset", [("1B",), ("8B", "1B"), ("3B", "3B", "8B"), ("1B", "8B", "8B", "8B")]
)
def test_cheapest_connected_cost_equals_enumeration(
    cost: CostModel, multiset: tuple[str, ...]
) -> None:
    expected = every_connected_graph_cost(cost, multiset)
    assert cheapest_connected_cost(cost, multiset) == pytest.approx(expected, rel=1e-12)


def test_large_nodes_are_not_made_to_read() -> None:
    """One small reader among large roots is cheaper than large readers, until it reads much."""
    multiset = ["8B"] * 3 + ["1B"]
    star = graph("8881", (0, 3), (1, 3), (2, 3))
    assert cheapest_connected_cost(FLOPS, multiset) == FLOPS.graph_cost(star)
    assert cheapest_connected_cost(FLOPS, []) == 0


@given(st.floats(0, 60), st.integers(1, 40))
@settings(max_examples=100)
def test_maximum_nodes_is_the_longest_chain_that_fits(limit: float, cap: int) -> None:
    def chain(length: int) -> float:
        return cheapest_connected_cost(FLOPS, ["1B"] * length) / FLOPS.unit

    n = maximum_nodes(FLOPS, limit, cap)
    assert 0 <= n <= cap
    assert n == 0 or chain(n) <= limit * (1 + 1e-9)
    assert n == cap or chain(n + 1) > limit


@pytest.mark.parametrize("length", range(1, 25))
def test_a_budget_of_exactly_one_chain_admits_it(length: int) -> None:
    limit = cheapest_connected_cost(FLOPS, ["1B"] * length) / FLOPS.unit
    assert maximum_nodes(FLOPS, limit) == length


def test_cost_models_meet_their_protocol() -> None:
    models: list[CostModel] = [FLOPS, DOLLARS]
    assert Counter(cost.cheapest_model for cost in models) == {"1B": 2}
