"""The rule agent: the papers' three insights as explicit, deterministic rules.

It is the default where no language model is configured, and what stands in for one that fails.
"""

import asyncio
from collections.abc import Sequence

from graphwright.graphs.graph import Edge, Role
from graphwright.planner.agent.moves import next_graph
from graphwright.planner.agent.port import (
    Agent,
    DistributionUpdate,
    FamilySizePreference,
    GraphReport,
    InstanceChoice,
    ModelProfile,
    SelectFamilySize,
    SelectInstances,
    UpdateDistribution,
)

BUDGET_SHARES = (1.0, 0.75, 0.5, 0.25)
"""How much of the budget stage 2 tries to fill: the optimum may lie below it (Insight 2)."""

STEP = 0.2
"""The most that a probability moves in one round (rule R-3)."""

GAIN = 2.0
"""Change of probability per point of measured advantage."""


class RuleAgent(Agent):
    """Guides by rules; the same request always gets the same answer."""

    async def select_family_size(self, request: SelectFamilySize) -> FamilySizePreference:
        """Insight 1: rank models by what an ensemble of them promises within the budget."""
        ranked = sorted(request.profiles, key=lambda p: (-_promise(p, request.limit), p.units))
        return FamilySizePreference(ranking=tuple(profile.model for profile in ranked))

    async def select_instances(self, request: SelectInstances) -> InstanceChoice:
        """Insight 1: replicate the preferred model at several fillings of the budget, then mix
        it with the runner-up in either order, then replicate the runner-up."""
        first, *others = request.preference.ranking
        second = others[0] if others else first
        chosen: dict[tuple[str, ...], None] = {}
        for ends, shares in (
            ((first, first), BUDGET_SHARES),
            ((second, first), BUDGET_SHARES[:2]),
            ((first, second), BUDGET_SHARES[:1]),
            ((second, second), BUDGET_SHARES[:1]),
        ):
            pool = [(m, share) for m, share in request.feasible if (m[0], m[-1]) == ends]
            for share in shares if pool else ():
                chosen[min(pool, key=lambda entry: (abs(entry[1] - share), entry[0]))[0]] = None
        return InstanceChoice(multisets=tuple(chosen)[: request.count])

    async def update_distribution(self, request: UpdateDistribution) -> DistributionUpdate:
        """Insights 2 and 3: nudge what was sampled by its measured advantage, and try the
        neighbour of the best graph that the trends in width and depth point to."""
        evidence = (*request.last_round, *request.history)
        sampled = sorted({edge for report in request.last_round for edge in report.edges})
        moved = tuple(
            (edge, _nudged_edge(request.edge_probabilities, edge, evidence)) for edge in sampled
        )
        proposal = await asyncio.to_thread(next_graph, request, evidence)
        return DistributionUpdate(
            edge_probabilities=moved,
            fuser_probabilities=_fusers(request, evidence),
            edges=proposal.edges,
            roles=proposal.roles,
        )


def _promise(profile: ModelProfile, limit: float) -> float:
    """The score expected of this model when the budget is filled with it.

    A small ensemble's gain over one call is carried on once if the budget has room for twice that
    ensemble; a model whose ensemble does not fit promises what one call gives.
    """
    if profile.ensemble is None or profile.ensemble_units is None:
        return profile.single
    gain = profile.ensemble - profile.single
    room = limit >= 2 * profile.ensemble_units
    return max(profile.single, profile.ensemble + (max(gain, 0.0) / 2 if room else 0.0))


def _nudged_edge(
    probabilities: Sequence[Sequence[float]], edge: Edge, evidence: Sequence[GraphReport]
) -> float:
    source, target = edge
    return _nudged(
        probabilities[source][target],
        [report.advantage for report in evidence if edge in report.edges],
        [report.advantage for report in evidence if edge not in report.edges],
    )


def _fusers(
    request: UpdateDistribution, evidence: Sequence[GraphReport]
) -> tuple[tuple[int, float], ...]:
    """Moved fuser probabilities of the nodes that read answers in the last round."""
    moved = []
    for node in sorted({target for report in request.last_round for _, target in report.edges}):
        reading = [r for r in evidence if any(target == node for _, target in r.edges)]
        fusing = [r.advantage for r in reading if r.roles[node] is Role.FUSER]
        refining = [r.advantage for r in reading if r.roles[node] is not Role.FUSER]
        moved.append((node, _nudged(request.fuser_probabilities[node], fusing, refining)))
    return tuple(moved)


def _nudged(probability: float, chosen: Sequence[float], spurned: Sequence[float]) -> float:
    """A probability moved by the difference in mean advantage, shrunk where evidence is thin."""
    if not chosen or not spurned:
        return probability
    difference = sum(chosen) / len(chosen) - sum(spurned) / len(spurned)
    pairs = min(len(chosen), len(spurned))
    step = GAIN * difference * pairs / (pairs + 2)
    return min(max(probability + min(max(step, -STEP), STEP), 0.01), 0.99)
