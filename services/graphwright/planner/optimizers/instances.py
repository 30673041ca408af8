"""Stage 2 of Agent-REINFORCE: multisets of models, each tried in several topologies."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import numpy as np
from pydantic import Field

from graphwright.graphs.graph import Graph
from graphwright.planner.agent.port import Advice, AgentRequest
from graphwright.planner.optimizers.loop import Loop, report
from graphwright.planner.optimizers.multisets import Multiset, Topology, random_topology
from graphwright.planner.optimizers.port import Problem
from graphwright.planner.optimizers.stage import SearchStage, UnexpectedAdvice, candidate_id
from graphwright.search.trial import Candidate, Stage, Trial

STRAIGHTNESS = (1.0, 0.6, 0.2)
"""Strata of the topologies tried with each multiset, from wide to deep (Insight 3)."""

PRUNING_ATTEMPTS = 8
"""Random topologies drawn in search of one within the budget, before it is thinned out."""


class Instances(SearchStage):
    """`scores` and `latencies` by candidate id."""

    kind: Literal["instances"] = "instances"
    multisets: tuple[Multiset, ...]
    scores: dict[str, float] = Field(default_factory=dict)
    latencies: dict[str, float] = Field(default_factory=dict)

    def suggest(self, problem: Problem, count: int) -> Sequence[Candidate]:
        plan = self._plan(problem)
        open_ = [id_ for id_ in plan if id_ not in self.scores]
        return [
            Candidate(
                id=id_,
                graph=plan[id_][1].graph(plan[id_][0]),
                stage=Stage.INSTANCES,
                origin="topology",
            )
            for id_ in open_[:count]
        ]

    def learn(self, problem: Problem, trials: Sequence[Trial]) -> SearchStage:
        plan = self._plan(problem)
        for trial in trials:
            if trial.id in plan:
                self.scores.setdefault(trial.id, trial.score)
                self.latencies.setdefault(trial.id, trial.latency_seconds)
        return self._loop(problem) if len(self.scores) == len(plan) else self

    def request(self, problem: Problem) -> AgentRequest | None:
        return None

    def advise(self, problem: Problem, advice: Advice) -> SearchStage:
        raise UnexpectedAdvice(self.kind, advice)

    def incumbent(self, problem: Problem) -> Graph:
        plan = self._plan(problem)
        multiset, topology = plan[self._best(plan) if self.scores else next(iter(plan))]
        return topology.graph(multiset)

    def _plan(self, problem: Problem) -> Mapping[str, tuple[Multiset, Topology]]:
        """Every multiset in every topology, by candidate id; the same at every call."""
        rng = np.random.default_rng([problem.seed, self.first])
        tries = [
            (multiset, _topology_within(problem, multiset, straightness, rng))
            for multiset in self.multisets
            for straightness in STRAIGHTNESS[: max(len(multiset) - 1, 1)]
        ]
        return {candidate_id(self.first + k): entry for k, entry in enumerate(tries)}

    def _best(self, plan: Mapping[str, tuple[Multiset, Topology]]) -> str:
        return max((i for i in plan if i in self.scores), key=lambda i: self.scores[i])

    def _loop(self, problem: Problem) -> Loop:
        """The next stage, its nodes fixed by the multiset of the best trial.

        The paper averages over topologies; the best one says more about where a search over
        topologies will end.
        """
        plan = self._plan(problem)
        proven = self._best(plan)
        chosen = plan[proven][0]
        trials = {i: topology for i, (m, topology) in plan.items() if m == chosen}
        mean = fmean(self.scores[id_] for id_ in trials)
        reports = [
            report(
                problem,
                chosen,
                topology,
                score=self.scores[id_],
                latency_seconds=self.latencies[id_],
                advantage=self.scores[id_] - mean,
            )
            for id_, topology in trials.items()
        ]
        return Loop.start(self.first + len(plan), chosen, trials[proven], reports)


def _topology_within(
    problem: Problem, multiset: Multiset, straightness: float, rng: np.random.Generator
) -> Topology:
    """A random topology that fits; where none is found, the first nodes are left out."""
    for _ in range(PRUNING_ATTEMPTS):
        topology = random_topology(len(multiset), straightness, rng)
        if problem.fits(topology.graph(multiset)):
            return topology
    edges = list(topology.edges)
    while edges and not problem.fits(Topology(edges, topology.roles).graph(multiset)):
        del edges[0]
    return Topology(edges, topology.roles)
