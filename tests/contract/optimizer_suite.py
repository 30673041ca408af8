"""What every optimizer of the registry promises; the method names are the specification."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from graphwright.graphs.cost import FlopsCost, maximum_nodes
from graphwright.graphs.graph import Graph, Role
from graphwright.graphs.model_spec import ModelSpec, TaskLengths
from graphwright.graphs.signature import graph_hash
from graphwright.planner.agent.rules import RuleAgent
from graphwright.planner.optimizers.port import Optimizer, Problem, UnreadableState
from graphwright.planner.optimizers.registry import OPTIMIZERS
from graphwright.search.trial import Candidate, Stage, Trial, TrialStatus, Usage

MODELS = (
    ModelSpec(name="small", family="f", parameters=1e6, layers=2, hidden_size=64),
    ModelSpec(name="medium", family="f", parameters=3e6, layers=3, hidden_size=96),
    ModelSpec(name="large", family="g", parameters=8e6, layers=4, hidden_size=128),
)
SKILL = {"small": 0.35, "medium": 0.5, "large": 0.6}


def problem(limit: float = 18.0, seed: int = 7) -> Problem:
    """The three models at a budget of `limit` units."""
    cost = FlopsCost(MODELS, TaskLengths(prompt=20, output=30))
    return Problem(MODELS, cost, limit, maximum_nodes(cost, limit), seed)


def score(graph: Graph) -> float:
    """A landscape like the papers': fusing three or four answers gains, more overload."""
    levels: list[float] = []
    for index, node in enumerate(graph.nodes):
        level, read = SKILL[node.model], [levels[s] for s in graph.predecessors(index)]
        if read:
            gain = {1: 0.04, 2: 0.09, 3: 0.15, 4: 0.16}.get(len(read), 0.05)
            level = (level + sum(read) / len(read)) / 2
            level += gain if node.role is Role.FUSER else gain / 2
        levels.append(min(level, 1.0))
    return levels[-1]


def trial(candidate: Candidate, noise: float = 0.0) -> Trial:
    """A completed trial; `noise` is added to the true score."""
    return Trial(
        id=candidate.id,
        search_id="s",
        iteration=0,
        stage=candidate.stage,
        origin=candidate.origin,
        graph=candidate.graph,
        graph_hash=graph_hash(candidate.graph),
        budget_units=0.0,
        status=TrialStatus.COMPLETED,
        score=min(max(score(candidate.graph) + noise, 0.0), 1.0),
        failed_questions=0,
        latency_seconds=1.0,
        outcomes=(),
        usage=Usage(),
    )


def failed(candidate: Candidate) -> Trial:
    """A trial in which not one question was answered."""
    return trial(candidate).model_copy(update={"status": TrialStatus.FAILED, "score": 0.0})


def consult(optimizer: Optimizer) -> None:
    """Answer what the optimizer asks."""
    while (request := optimizer.consult()) is not None:
        optimizer.advise(asyncio.run(RuleAgent().answer(request)))


def search(
    optimizer: Optimizer,
    rounds: int,
    count: int = 4,
    evaluate: Callable[[Candidate], Trial] = trial,
) -> list[Candidate]:
    """All candidates of `rounds` rounds."""
    seen: list[Candidate] = []
    for _ in range(rounds):
        consult(optimizer)
        candidates = optimizer.suggest(count)
        seen += candidates
        optimizer.update([evaluate(candidate) for candidate in candidates])
    return seen


def fingerprints(name: str, seed: int, rounds: int) -> list[str]:
    """Ids and graphs that an optimizer proposes, for comparison between processes."""
    candidates = search(OPTIMIZERS[name](problem(seed=seed)), rounds)
    return [f"{c.id}/{graph_hash(c.graph)}" for c in candidates]


class OptimizerSuite:
    """Bind `name` to run the suite over one optimizer."""

    def make(self, name: str, **kwargs: float) -> Optimizer:
        return OPTIMIZERS[name](problem(**kwargs))

    def test_every_candidate_fits_the_budget(self, name: str) -> None:
        for limit in (1.0, 2.5, 8.0, 18.0, 42.0):
            optimizer = self.make(name, limit=limit)
            for candidate in search(optimizer, rounds=12):
                assert optimizer.problem.fits(candidate.graph)
            assert optimizer.problem.fits(optimizer.incumbent())

    def test_honours_the_count(self, name: str) -> None:
        optimizer = self.make(name)
        for count in (1, 2, 5, 3, 8, 1):
            consult(optimizer)
            candidates = optimizer.suggest(count)
            assert 1 <= len(candidates) <= count
            optimizer.update([trial(candidate) for candidate in candidates])

    def test_a_round_is_of_one_stage(self, name: str) -> None:
        optimizer = self.make(name)
        for _ in range(15):
            consult(optimizer)
            candidates = optimizer.suggest(4)
            assert len({candidate.stage for candidate in candidates}) == 1
            optimizer.update([trial(candidate) for candidate in candidates])

    def test_ids_are_unique_and_in_the_order_of_proposal(self, name: str) -> None:
        ids = [candidate.id for candidate in search(self.make(name), rounds=15)]
        assert ids == sorted(set(ids))

    def test_asking_twice_gives_the_same_candidates(self, name: str) -> None:
        optimizer = self.make(name)
        for _ in range(12):
            consult(optimizer)
            first = optimizer.suggest(4)
            assert optimizer.suggest(4) == first
            optimizer.update([trial(candidate) for candidate in first])

    def test_reaches_the_loop_and_stays_in_it(self, name: str) -> None:
        stages = [candidate.stage for candidate in search(self.make(name), rounds=20)]
        assert stages[-1] is Stage.SEARCH
        assert stages == sorted(stages, key=list(Stage).index)

    def test_same_seed_same_proposals_in_another_process(self, name: str) -> None:
        here = fingerprints(name, seed=3, rounds=12)
        code = (
            "import json, sys; sys.path.insert(0, sys.argv[1]);"
            "from optimizer_suite import fingerprints;"
            "print(json.dumps(fingerprints(sys.argv[2], 3, 12)))"
        )
        folder = __file__.rpartition("/")[0]
        there = subprocess.run(
            [sys.executable, "-c", code, folder, name],
            env={"PYTHONHASHSEED": "12345"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(there.stdout) == here

    def test_another_seed_gives_other_proposals(self, name: str) -> None:
        assert fingerprints(name, seed=3, rounds=12) != fingerprints(name, seed=4, rounds=12)

    def test_dump_and_load_continue_identically(self, name: str) -> None:
        optimizer = self.make(name)
        for _ in range(14):
            restored = self.make(name)
            restored.load(json.loads(json.dumps(optimizer.dump())))
            consult(optimizer)
            consult(restored)
            candidates = optimizer.suggest(4)
            assert restored.suggest(4) == candidates
            assert restored.incumbent() == optimizer.incumbent()
            optimizer.update([trial(candidate) for candidate in candidates])

    def test_updating_twice_is_updating_once(self, name: str) -> None:
        once, twice = self.make(name), self.make(name)
        for _ in range(12):
            consult(once)
            consult(twice)
            trials = [trial(candidate) for candidate in once.suggest(4)]
            once.update(trials)
            twice.update(trials)
            twice.update(trials)
            assert twice.dump() == once.dump()

    def test_the_order_of_trials_does_not_matter(self, name: str) -> None:
        forwards, backwards = self.make(name), self.make(name)
        for _ in range(12):
            consult(forwards)
            consult(backwards)
            trials = [trial(candidate) for candidate in forwards.suggest(4)]
            forwards.update(trials)
            backwards.update(trials[::-1])
            assert backwards.suggest(4) == forwards.suggest(4)

    def test_failed_trials_do_no_harm(self, name: str) -> None:
        optimizer = self.make(name)
        calls = iter(range(1000))
        search(optimizer, 12, evaluate=lambda c: failed(c) if next(calls) % 3 == 0 else trial(c))
        assert optimizer.problem.fits(optimizer.incumbent())
        hopeless = self.make(name)
        search(hopeless, 12, evaluate=failed)
        assert hopeless.problem.fits(hopeless.incumbent())

    def test_ends_no_worse_than_the_best_single_call(self, name: str) -> None:
        """Mean of five seeds, noise as of 250 questions; two points are 1.5 standard errors."""
        found = []
        for seed in range(5):
            rng, optimizer = np.random.default_rng(seed), self.make(name, seed=seed)
            search(optimizer, 20, evaluate=lambda c, r=rng: trial(c, r.normal(0, 0.03)))
            found.append(score(optimizer.incumbent()))
        assert np.mean(found) >= max(SKILL.values()) - 0.02

    def test_refuses_a_foreign_state(self, name: str) -> None:
        optimizer = self.make(name)
        with pytest.raises(UnreadableState, match="another/1"):
            optimizer.load({"version": "another/1"})


def names() -> Sequence[str]:
    """Every optimizer of the registry."""
    return sorted(OPTIMIZERS)
