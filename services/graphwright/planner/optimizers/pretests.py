"""Stage 1 of Agent-REINFORCE: every affordable model alone and as a small ensemble (Insight 1)."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from graphwright.graphs.graph import Graph, Node, Role
from graphwright.planner.agent.port import (
    Advice,
    AgentRequest,
    FamilySizePreference,
    InstanceChoice,
    ModelProfile,
    SelectFamilySize,
    SelectInstances,
)
from graphwright.planner.optimizers.instances import Instances
from graphwright.planner.optimizers.multisets import feasible_multisets
from graphwright.planner.optimizers.port import Problem
from graphwright.planner.optimizers.stage import SearchStage, UnexpectedAdvice, candidate_id
from graphwright.search.trial import Candidate, Stage, Trial

ENSEMBLE_WIDTHS = (3, 2)
"""Answers that a pre-tested ensemble fuses: the most that fit."""

MULTISETS = 8
"""Multisets that the agent may have tried in stage 2."""


class Pretests(SearchStage):
    """`scores` by candidate id; `ranking` once the agent has given it."""

    kind: Literal["pretests"] = "pretests"
    scores: dict[str, float] = Field(default_factory=dict)
    ranking: tuple[str, ...] | None = None

    def suggest(self, problem: Problem, count: int) -> Sequence[Candidate]:
        open_ = [(i, g) for i, g in self._graphs(problem).items() if i not in self.scores]
        return [
            Candidate(id=id_, graph=graph, stage=Stage.PRETEST, origin="pretest")
            for id_, graph in open_[:count]
        ]

    def learn(self, problem: Problem, trials: Sequence[Trial]) -> SearchStage:
        known = self._graphs(problem)
        for trial in trials:
            if trial.id in known:
                self.scores.setdefault(trial.id, trial.score)
        return self

    def request(self, problem: Problem) -> AgentRequest | None:
        if len(self.scores) < len(self._graphs(problem)):
            return None
        profiles = self._profiles(problem)
        if self.ranking is None:
            return SelectFamilySize(limit=problem.limit, profiles=profiles)
        return SelectInstances(
            limit=problem.limit,
            preference=FamilySizePreference(ranking=self.ranking),
            profiles=profiles,
            feasible=feasible_multisets(problem),
            count=MULTISETS,
        )

    def advise(self, problem: Problem, advice: Advice) -> SearchStage:
        match advice:
            case FamilySizePreference() if self.ranking is None:
                self.ranking = advice.ranking
                return self
            case InstanceChoice() if self.ranking is not None:
                feasible = dict(feasible_multisets(problem))
                chosen = tuple(m for m in advice.multisets if m in feasible)
                first = self.first + len(self._graphs(problem))
                return Instances(first=first, multisets=chosen or (max(feasible),))
            case _:
                raise UnexpectedAdvice(self.kind, advice)

    def incumbent(self, problem: Problem) -> Graph:
        graphs = self._graphs(problem)
        if not self.scores:
            return next(iter(graphs.values()))
        return graphs[max(self.scores, key=lambda i: (self.scores[i], -problem.units(graphs[i])))]

    def _graphs(self, problem: Problem) -> Mapping[str, Graph]:
        models = [spec.name for spec in problem.affordable]
        graphs = [g for m in models for g in (Graph.single(m), _ensemble(problem, m)) if g]
        return {candidate_id(self.first + k): graph for k, graph in enumerate(graphs)}

    def _profiles(self, problem: Problem) -> tuple[ModelProfile, ...]:
        by_graph = {graph: self.scores[id_] for id_, graph in self._graphs(problem).items()}
        profiles = []
        for spec in problem.affordable:
            alone, ensemble = Graph.single(spec.name), _ensemble(problem, spec.name)
            profiles.append(
                ModelProfile(
                    model=spec.name,
                    family=spec.family,
                    units=problem.units(alone),
                    single=by_graph[alone],
                    ensemble=by_graph[ensemble] if ensemble else None,
                    ensemble_units=problem.units(ensemble) if ensemble else None,
                )
            )
        return tuple(profiles)


def _ensemble(problem: Problem, model: str) -> Graph | None:
    """Parallel answers and a fuser, all of one model; None if not even the narrowest fits."""
    for width in ENSEMBLE_WIDTHS:
        nodes = [Node(role=Role.ASSISTANT, model=model)] * width
        graph = Graph(
            nodes=(*nodes, Node(role=Role.FUSER, model=model)),
            edges=tuple((source, width) for source in range(width)),
        )
        if problem.fits(graph):
            return graph
    return None
