"""The search session: one search, advanced round by round under a lease.

Each round: ask the agent if the optimizer wants to, have the candidates evaluated on one shared
mini-batch, let the optimizer learn, validate its incumbent, checkpoint. The session owns the loop
and every await; what it needs to go on after a crash is in the archive at each checkpoint.
Optimizers compute in threads, so that a large problem holds up neither heartbeats nor other
searches.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, Field

from graphwright.archive.port import Archive, Lease
from graphwright.bus.port import Bus
from graphwright.graphs.graph import Graph
from graphwright.graphs.signature import graph_hash
from graphwright.planner.admission import Admitted
from graphwright.planner.agent.port import Agent
from graphwright.planner.environment import Environment
from graphwright.planner.evaluation import Evaluation, summarize
from graphwright.planner.optimizers.port import Optimizer
from graphwright.planner.verdict import measure_result
from graphwright.search.search import Search, SearchEvent, SearchProgress, SearchState
from graphwright.search.trial import Candidate, Stage, Trial, Usage
from graphwright.tasks.taskset import Question, Split
from graphwright.telemetry import metrics

BATCHES_PER_STAGE: Mapping[Stage, int] = {Stage.PRETEST: 4, Stage.INSTANCES: 2, Stage.SEARCH: 1}
"""Mini-batches that a stage's questions are worth: what initialisation decides is not revised, so
it is measured more precisely."""

log = structlog.get_logger()


class SessionState(BaseModel):
    """What a session must remember from checkpoint to checkpoint."""

    model_config = ConfigDict(extra="forbid")

    version: int = 1
    optimizer: Mapping[str, Any] | None = None
    rounds: int = 0
    iteration: int = 0
    stale_iterations: int = 0
    exhausted: bool = False
    validated: dict[str, float] = Field(default_factory=dict)
    best: Graph | None = None
    best_score: float = 0.0
    events: int = 0


class SearchSession:
    """Runs one search to its end, or up to where it is interrupted."""

    def __init__(
        self,
        search: Search,
        lease: Lease,
        admitted: Admitted,
        optimizer: Optimizer,
        agent: Agent,
        environment: Environment,
        archive: Archive,
        bus: Bus,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._search = search
        self._lease = lease
        self._admitted = admitted
        self._spec = search.spec
        self._optimizer = optimizer
        self._agent = agent
        self._environment = environment
        self._archive = archive
        self._bus = bus
        self._clock = clock
        self._began = clock() - search.progress.seconds
        self._usage = search.progress.usage
        self._evaluations = search.progress.evaluations
        self._state = SessionState()

    async def run(self) -> None:
        """Advance the search to its end.

        Raises:
            LeaseLost: another planner has taken the search over.
            NoAnswer: an evaluation got no answer.
        """
        await self._restore()
        async with self._environment.open():
            while not self._converged():
                await self._round()
            await self._conclude()

    async def _restore(self) -> None:
        saved = await self._archive.session_state(self._search.id)
        if saved is not None:
            self._state = SessionState.model_validate(saved)
        if self._state.optimizer is not None:
            self._optimizer.load(self._state.optimizer)
        step = "resumed" if saved is not None else "started"
        log.info("search_taken_up", step=step, search_id=self._search.id, rounds=self._state.rounds)
        # Batches graded under an earlier lease belong to the round that is about to go on.
        await self._checkpoint(step, keep_graded=True)

    def _converged(self) -> bool:
        state, spec = self._state, self._spec
        out_of_patience = state.stale_iterations >= spec.patience
        return state.exhausted or out_of_patience or state.iteration >= spec.iterations

    async def _round(self) -> None:
        started = self._clock()
        await self._consult()
        candidates = await asyncio.to_thread(self._optimizer.suggest, self._spec.graphs)
        if not candidates:
            self._state.exhausted = True
            return
        stage = candidates[0].stage
        trials = await self._evaluate(candidates, stage)
        await asyncio.to_thread(self._optimizer.update, trials)
        self._state.rounds += 1
        if stage is Stage.SEARCH:
            self._state.iteration += 1
            await self._validate(self._optimizer.incumbent())
        await self._checkpoint(str(stage), trials)
        metrics.ROUNDS.inc()
        metrics.ROUND_SECONDS.observe(self._clock() - started)

    async def _consult(self) -> None:
        request = await asyncio.to_thread(self._optimizer.consult)
        if request is None:
            return
        while request is not None:
            advice = await self._agent.answer(request)
            await asyncio.to_thread(self._optimizer.advise, advice)
            request = await asyncio.to_thread(self._optimizer.consult)
        # Kept before it is acted upon: an agent asked again may answer otherwise.
        await self._checkpoint("advised")

    async def _evaluate(self, candidates: Sequence[Candidate], stage: Stage) -> list[Trial]:
        graphs = {candidate.id: candidate.graph for candidate in candidates}
        label = f"{self._state.rounds}.{Split.TRAIN}"
        runs = await self._environment.evaluate(
            label, graphs, self._mini_batch(stage), epoch=self._epoch(stage)
        )
        trials = [self._trial(candidate, summarize(runs[candidate.id])) for candidate in candidates]
        for trial in trials:
            metrics.TRIALS.labels(trial.status, trial.stage).inc()
            self._charge(trial.usage)
        return trials

    def _trial(self, candidate: Candidate, evaluation: Evaluation) -> Trial:
        return Trial(
            id=candidate.id,
            search_id=self._search.id,
            iteration=self._state.iteration + 1 if candidate.stage is Stage.SEARCH else 0,
            stage=candidate.stage,
            origin=candidate.origin,
            graph=candidate.graph,
            graph_hash=graph_hash(candidate.graph),
            budget_units=self._admitted.problem.units(candidate.graph),
            status=evaluation.status,
            score=evaluation.score,
            failed_questions=evaluation.failed_questions,
            latency_seconds=evaluation.latency_seconds,
            outcomes=evaluation.outcomes,
            usage=evaluation.usage,
        )

    def _mini_batch(self, stage: Stage) -> Sequence[Question]:
        """The questions of a round; initialisation stages keep theirs over all their rounds."""
        train = self._admitted.task.questions(Split.TRAIN)
        count = min(len(train), self._spec.batch * BATCHES_PER_STAGE[stage])
        return Random(f"{self._spec.seed}/{self._epoch(stage)}").sample(train, count)

    def _epoch(self, stage: Stage) -> str:
        return f"{stage}/{self._state.iteration}" if stage is Stage.SEARCH else str(stage)

    async def _validate(self, incumbent: Graph) -> None:
        key = graph_hash(incumbent)
        if key not in self._state.validated:
            self._state.validated[key] = await self._validation_score(incumbent)
        score = self._state.validated[key]
        if self._state.best is None or score > self._state.best_score:
            self._state.best, self._state.best_score = incumbent, score
            self._state.stale_iterations = 0
        else:
            self._state.stale_iterations += 1

    async def _validation_score(self, graph: Graph) -> float:
        questions = self._admitted.task.questions(Split.VALIDATION)
        label = f"{self._state.rounds}.{Split.VALIDATION}"
        runs = await self._environment.evaluate(
            label, {"incumbent": graph}, questions, epoch=Split.VALIDATION
        )
        evaluation = summarize(runs["incumbent"])
        self._charge(evaluation.usage)
        return evaluation.score

    def _charge(self, usage: Usage) -> None:
        self._usage += usage
        self._evaluations += 1

    async def _conclude(self) -> None:
        if self._state.best is None:
            await self._validate(self._optimizer.incumbent())
        assert self._state.best is not None  # noqa: S101 -- _validate has just set it
        result, usages = await measure_result(
            self._environment, self._admitted, self._state.best, self._state.best_score
        )
        for usage in usages:
            self._charge(usage)
        self._search = self._search.model_copy(
            update={"state": SearchState.SUCCEEDED, "result": result}
        )
        await self._checkpoint("finished")

    async def _checkpoint(
        self, step: str, trials: Sequence[Trial] = (), *, keep_graded: bool = False
    ) -> None:
        self._state.optimizer = self._optimizer.dump()
        self._state.events += 1
        self._search = self._search.model_copy(
            update={"progress": self._progress(step), "updated_at": datetime.now(UTC)}
        )
        state = self._state.model_dump(mode="json")
        await self._archive.checkpoint(
            self._lease, self._search, state=state, trials=trials, keep_graded=keep_graded
        )
        await self._bus.announce(
            SearchEvent(
                search_id=self._search.id,
                sequence=self._state.events,
                state=self._search.state,
                progress=self._search.progress,
            )
        )

    def _progress(self, step: str) -> SearchProgress:
        best = self._state.best
        return SearchProgress(
            step=step,
            iteration=self._state.iteration,
            rounds=self._state.rounds,
            evaluations=self._evaluations,
            best_validation_score=None if best is None else self._state.best_score,
            best_graph_hash="" if best is None else graph_hash(best),
            usage=self._usage,
            seconds=self._clock() - self._began,
        )
