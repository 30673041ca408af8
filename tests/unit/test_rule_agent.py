"""The rule agent and the loop it guides: insights 1-3 and rule R-3."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.graphs.graph import Role
from graphwright.planner.agent.moves import Shapes, next_graph
from graphwright.planner.agent.port import (
    DistributionUpdate,
    FamilySizePreference,
    GraphReport,
    InstanceChoice,
    ModelProfile,
    SelectFamilySize,
    SelectInstances,
    UpdateDistribution,
)
from graphwright.planner.agent.rules import RuleAgent
from graphwright.planner.optimizers.multisets import Topology
from graphwright.planner.optimizers.nudges import (
    HIGHEST,
    LOWEST,
    STEP,
    apply_update,
    fuser_probabilities,
    seeded,
)
from graphwright.planner.optimizers.stage import UnexpectedAdvice

from ..contract.optimizer_suite import OPTIMIZERS, consult, problem, trial

FUSER, ASSISTANT = Role.FUSER, Role.ASSISTANT


def profile(model: str, units: float, single: float, ensemble: float, cost: float) -> ModelProfile:
    return ModelProfile(
        model=model,
        family="f",
        units=units,
        single=single,
        ensemble=ensemble,
        ensemble_units=cost,
    )


def report(edges: list[tuple[int, int]], advantage: float, n: int = 5) -> GraphReport:
    topology = Topology(edges, [ASSISTANT] * (n - 1) + [FUSER])
    graph = topology.graph(("m",) * n)
    return GraphReport(
        edges=tuple(edges),
        roles=topology.roles,
        width=graph.width,
        depth=graph.depth,
        units=1.0,
        score=0.5 + advantage,
        advantage=advantage,
        latency_seconds=1.0,
    )


def update_request(
    reports: list[GraphReport], n: int = 5, limit: float = 100
) -> UpdateDistribution:
    return UpdateDistribution(
        limit=limit,
        models=("m",) * n,
        edge_probabilities=tuple((0.3,) * n for _ in range(n)),
        fuser_probabilities=(0.5,) * n,
        node_units=tuple(tuple(1.0 + 0.6 * d for d in range(n)) for _ in range(n)),
        last_round=tuple(reports),
        history=(),
    )


async def test_small_models_are_preferred_where_ensembling_them_gains() -> None:
    small = profile("small", 1, 0.40, 0.60, 6)
    large = profile("large", 8, 0.62, 0.62, 40).model_copy(
        update={"ensemble": None, "ensemble_units": None}
    )
    request = SelectFamilySize(limit=18, profiles=(small, large))
    assert (await RuleAgent().select_family_size(request)).ranking == ("small", "large")


async def test_the_large_model_is_preferred_where_it_knows_more() -> None:
    small = profile("small", 1, 0.30, 0.33, 6)
    large = profile("large", 8, 0.62, 0.63, 40)
    request = SelectFamilySize(limit=18, profiles=(small, large))
    assert (await RuleAgent().select_family_size(request)).ranking == ("large", "small")


async def test_instance_counts_cover_the_budget_from_a_quarter_to_the_whole() -> None:
    feasible = tuple((("small",) * n, n / 16) for n in range(1, 17))
    request = SelectInstances(
        limit=18,
        preference=FamilySizePreference(ranking=("small",)),
        profiles=(),
        feasible=feasible,
        count=6,
    )
    choice = await RuleAgent().select_instances(request)
    assert [len(multiset) for multiset in choice.multisets] == [16, 12, 8, 4]


async def test_only_sampled_edges_move_by_their_advantage() -> None:
    good, bad = report([(0, 4), (1, 4)], 0.1), report([(0, 4), (2, 3), (3, 4)], -0.1)
    update = await RuleAgent().update_distribution(update_request([good, bad]))
    moved = dict(update.edge_probabilities)
    assert set(moved) == {(0, 4), (1, 4), (2, 3), (3, 4)}
    assert moved[1, 4] > 0.3 > moved[2, 3]
    assert moved[0, 4] == 0.3


@settings(max_examples=60)
@given(st.data())
def test_updates_stay_within_rule_r3(data: st.DataObject) -> None:
    """Whatever an agent says: bounded steps, sampled edges only, probabilities inside (0, 1)."""
    models = ("m",) * 5
    reports = [report([(0, 4), (1, 4)], 0.1), report([(2, 3), (3, 4)], -0.1)]
    before = seeded(models, Topology([(0, 4)], reports[0].roles))
    pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))
    update = DistributionUpdate(
        edge_probabilities=tuple(
            data.draw(st.lists(st.tuples(pairs, st.floats(0, 1)), max_size=12))
        ),
        fuser_probabilities=tuple(
            data.draw(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), max_size=6))
        ),
        edges=(),
        roles=(ASSISTANT,) * 5,
    )
    after = apply_update(before, update, reports)
    change = after.edge_probabilities() - before.edge_probabilities()
    sampled = {edge for r in reports for edge in r.edges}
    assert np.abs(change).max() <= STEP + 1e-9
    assert {(int(i), int(j)) for i, j in np.argwhere(np.abs(change) > 1e-12)} <= sampled
    upper = after.edge_probabilities()[np.triu_indices(5, 1)]
    assert upper.min() >= LOWEST - 1e-9
    assert upper.max() <= HIGHEST + 1e-9
    roles = fuser_probabilities(after)[:4] - fuser_probabilities(before)[:4]
    assert np.abs(roles).max() <= STEP + 1e-9


def test_the_next_graph_follows_the_trend_in_width() -> None:
    narrow, wide = report([(3, 4)], -0.1), report([(2, 4), (3, 4)], 0.1)
    proposal = next_graph(update_request([narrow, wide]), [narrow, wide])
    assert proposal.width == 3


def test_the_next_graph_stays_within_the_budget_and_is_untried() -> None:
    wide = report([(0, 4), (1, 4), (2, 4)], 0.1)
    request = update_request([wide], limit=wide_units() + 0.01)
    proposal = next_graph(request, [wide])
    assert proposal.units <= request.limit
    assert proposal.edges != wide.edges


def wide_units() -> float:
    return 3 + (1 + 0.6 * 3)


def test_shapes_see_through_the_numbering() -> None:
    shapes = Shapes(("m",) * 5)
    roles = (ASSISTANT,) * 4 + (FUSER,)
    star = shapes.of([(0, 4), (1, 4)], roles)
    assert shapes.of([(1, 4), (3, 4)], roles) == star
    assert shapes.of([(0, 1), (1, 4)], roles) != star
    turned = (FUSER, *roles[1:])
    assert shapes.of([(0, 4), (1, 4)], turned) == star, "a root's role changes nothing"
    assert shapes.of([(0, 4), (1, 4)], (*roles[:4], ASSISTANT)) != star


def test_advice_that_was_not_asked_for_is_refused() -> None:
    optimizer = OPTIMIZERS["agent-reinforce"](problem())
    with pytest.raises(UnexpectedAdvice):
        optimizer.advise(InstanceChoice(multisets=(("small",),)))
    with pytest.raises(TypeError):
        OPTIMIZERS["random"](problem()).advise(FamilySizePreference(ranking=("small",)))


def test_infeasible_multisets_of_an_agent_are_passed_over() -> None:
    optimizer = OPTIMIZERS["agent-reinforce"](problem())
    while optimizer.consult() is None:
        optimizer.update([trial(candidate) for candidate in optimizer.suggest(4)])
    optimizer.advise(FamilySizePreference(ranking=("small", "medium", "large")))
    optimizer.advise(InstanceChoice(multisets=(("large",) * 9, ("small", "small"))))
    consult(optimizer)
    candidates = optimizer.suggest(10)
    assert {len(candidate.graph.nodes) for candidate in candidates} <= {1, 2}
