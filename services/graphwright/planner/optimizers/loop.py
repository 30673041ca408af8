"""Stage 3 of Agent-REINFORCE: the sample, feedback, update loop over the probabilistic graph."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from statistics import fmean
from typing import Any, Literal

import numpy as np

from graphwright.graphs.decoding import decode, sample_within
from graphwright.graphs.distribution import Draw, GraphDistribution
from graphwright.graphs.graph import Graph, Role
from graphwright.graphs.signature import graph_hash
from graphwright.planner.agent.port import (
    Advice,
    AgentRequest,
    DistributionUpdate,
    GraphReport,
    UpdateDistribution,
)
from graphwright.planner.optimizers.multisets import Multiset, Topology
from graphwright.planner.optimizers.nudges import apply_update, fuser_probabilities, seeded
from graphwright.planner.optimizers.port import Problem
from graphwright.planner.optimizers.stage import SearchStage, UnexpectedAdvice, candidate_id
from graphwright.search.trial import Candidate, Stage, Trial

THRESHOLD = 0.5
"""τ_e: edges at least this probable are part of the decoded graph."""

SHOWN = 8
"""Best and as many worst graphs of earlier rounds that the agent is shown."""

RESAMPLING = 64
"""Draws from which a round's distinct samples are taken."""


class Loop(SearchStage):
    """`distribution` over the nodes of `models`; `proposal` is the agent's own graph, present
    from its advice until the round's results."""

    kind: Literal["loop"] = "loop"
    models: Multiset
    distribution: Mapping[str, Any]
    last_round: tuple[GraphReport, ...]
    history: tuple[GraphReport, ...] = ()
    proposal: DistributionUpdate | None = None

    @classmethod
    def start(
        cls, first: int, models: Multiset, proven: Topology, reports: Sequence[GraphReport]
    ) -> "Loop":
        """Begin from stage 2: its reports are the first feedback, its best topology the seed."""
        return cls(
            first=first,
            models=models,
            distribution=seeded(models, proven).to_json(),
            last_round=tuple(reports),
        )

    def suggest(self, problem: Problem, count: int) -> Sequence[Candidate]:
        return [
            Candidate(
                id=candidate_id(self.first + number),
                graph=topology.graph(self.models),
                stage=Stage.SEARCH,
                origin=origin,
            )
            for number, (origin, topology) in enumerate(islice(self._proposals(problem), count))
        ]

    def learn(self, problem: Problem, trials: Sequence[Trial]) -> SearchStage:
        numbered = {int(trial.id[1:]) - self.first: trial for trial in trials}
        fresh = [(number, numbered[number]) for number in sorted(numbered) if number >= 0]
        if not fresh:
            return self
        proposals = list(islice(self._proposals(problem), fresh[-1][0] + 1))
        mean = fmean(trial.score for _, trial in fresh)
        self.history = _best_and_worst((*self.history, *self.last_round))
        self.last_round = tuple(
            report(
                problem,
                self.models,
                proposals[number][1],
                score=trial.score,
                latency_seconds=trial.latency_seconds,
                advantage=trial.score - mean,
            )
            for number, trial in fresh
        )
        self.first += len(proposals)
        self.proposal = None
        return self

    def request(self, problem: Problem) -> AgentRequest | None:
        if self.proposal is not None:
            return None
        distribution = self._distribution()
        return UpdateDistribution(
            limit=problem.limit,
            models=self.models,
            edge_probabilities=distribution.edge_probabilities().tolist(),
            fuser_probabilities=fuser_probabilities(distribution).tolist(),
            node_units=tuple(
                tuple(problem.cost.node_cost(m, d) / problem.cost.unit for d in range(index + 1))
                for index, m in enumerate(self.models)
            ),
            last_round=self.last_round,
            history=self.history,
        )

    def advise(self, problem: Problem, advice: Advice) -> SearchStage:
        if not isinstance(advice, DistributionUpdate):
            raise UnexpectedAdvice(self.kind, advice)
        self.distribution = apply_update(self._distribution(), advice, self.last_round).to_json()
        self.proposal = advice
        return self

    def incumbent(self, problem: Problem) -> Graph:
        """Deterministic decoding; a node is needed if one of its edges is probable."""
        distribution = self._distribution()
        probabilities = distribution.edge_probabilities()
        needed = set(np.flatnonzero(probabilities.max(axis=1) >= THRESHOLD).tolist())
        if not needed and distribution.n > 1:
            needed = {int(probabilities[:-1, -1].argmax())}
        return decode(distribution, problem.cost, problem.limit, THRESHOLD, needed)

    def _distribution(self) -> GraphDistribution:
        return GraphDistribution.from_json(self.distribution)

    def _proposals(self, problem: Problem) -> Iterator[tuple[str, Topology]]:
        """The agent's own graph, then distinct samples of up to `RESAMPLING`, then the others."""
        distribution = self._distribution()
        rng = np.random.default_rng([problem.seed, self.first])
        seen: set[str] = set()
        if self.proposal is not None:
            own = Topology(self.proposal.edges, self.proposal.roles)
            if problem.fits(own.graph(self.models)):
                seen.add(graph_hash(own.graph(self.models)))
                yield "agent", own
        repeats: list[Topology] = []
        for _ in range(RESAMPLING):
            draw = sample_within(distribution, problem.cost, problem.limit, rng, attempts=1)
            topology = _topology(draw)
            identity = graph_hash(topology.graph(self.models))
            if identity in seen:
                repeats.append(topology)
                continue
            seen.add(identity)
            yield "sample", topology
        for topology in repeats:
            yield "sample", topology


def report(
    problem: Problem,
    models: Multiset,
    topology: Topology,
    *,
    score: float,
    latency_seconds: float,
    advantage: float,
) -> GraphReport:
    """How a topology did, in the words of the agent port."""
    graph = topology.graph(models)
    alive = {len(models) - 1}
    edges = []
    for source, target in sorted(topology.edges, reverse=True):
        if target in alive:
            alive.add(source)
            edges.append((source, target))
    return GraphReport(
        edges=tuple(sorted(edges)),
        roles=topology.roles,
        width=graph.width,
        depth=graph.depth,
        units=problem.units(graph),
        score=score,
        advantage=advantage,
        latency_seconds=latency_seconds,
    )


def _best_and_worst(reports: Sequence[GraphReport]) -> tuple[GraphReport, ...]:
    ordered = sorted(reports, key=lambda report: (-report.score, report.units))
    return tuple(ordered if len(ordered) <= 2 * SHOWN else ordered[:SHOWN] + ordered[-SHOWN:])


def _topology(draw: Draw) -> Topology:
    edges = [(int(i), int(j)) for i, j in np.argwhere(draw.adjacency)]
    return Topology(edges, [(Role.ASSISTANT, Role.FUSER)[role] for role in draw.roles])
