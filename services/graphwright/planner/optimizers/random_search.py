"""Random search: graphs uniformly at random within the budget (paper, A.13)."""

from collections.abc import Sequence

import numpy as np

from graphwright.graphs.decoding import sample_within
from graphwright.graphs.distribution import GraphDistribution
from graphwright.graphs.graph import Graph
from graphwright.planner.optimizers.port import (
    Optimizer,
    OptimizerState,
    Problem,
    UnreadableState,
)
from graphwright.search.trial import Candidate, Trial

VERSION = "random/1"


class RandomSearch(Optimizer):
    """Draws size, models, roles and edges uniformly; keeps the best trial."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._proposed = 0
        self._seen: set[str] = set()
        self._best: tuple[float, float, Graph] | None = None

    def suggest(self, count: int) -> Sequence[Candidate]:
        return [self._draw(number) for number in range(self._proposed, self._proposed + count)]

    def update(self, completed: Sequence[Trial]) -> None:
        for trial in completed:
            if trial.id in self._seen:
                continue
            self._seen.add(trial.id)
            self._proposed = len(self._seen)
            rank = (trial.score, -trial.budget_units)
            if self._best is None or rank > self._best[:2]:
                self._best = (*rank, trial.graph)

    def incumbent(self) -> Graph:
        if self._best is None:
            return Graph.single(self.problem.affordable[0].name)
        return self._best[2]

    def dump(self) -> OptimizerState:
        best = self._best and [*self._best[:2], self._best[2].model_dump(mode="json")]
        return {"version": VERSION, "seen": sorted(self._seen), "best": best}

    def load(self, state: OptimizerState) -> None:
        if state.get("version") != VERSION:
            raise UnreadableState(VERSION, state.get("version"))
        self._seen = set(state["seen"])
        self._proposed = len(self._seen)
        if state["best"] is not None:
            score, rank, graph = state["best"]
            self._best = (score, rank, Graph.model_validate(graph))

    def _draw(self, number: int) -> Candidate:
        rng = np.random.default_rng([self.problem.seed, number])
        n = int(rng.integers(1, self.problem.max_nodes + 1))
        models = [spec.name for spec in self.problem.affordable]
        distribution = GraphDistribution.uniform(n, models, edge_probability=0.5)
        draw = sample_within(distribution, self.problem.cost, self.problem.limit, rng)
        return Candidate(id=f"t{number:05d}", graph=draw.graph(distribution), origin="random")
