"""Agent-REINFORCE (paper, Algorithm 1): an agent's feedback takes the place of the gradient.

Three stages, each plain data: `Pretests` measure every affordable model alone and as a small
ensemble, for the agent to rank; `Instances` tries the multisets of models that the agent names in
several topologies, and the best fixes the nodes; `Loop` samples graphs over these nodes, tells the
agent how they did, and moves the distribution of edges and roles as it advises.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, TypeAdapter

from graphwright.graphs.graph import Graph
from graphwright.planner.agent.port import Advice, AgentRequest
from graphwright.planner.optimizers.instances import Instances
from graphwright.planner.optimizers.loop import Loop
from graphwright.planner.optimizers.port import (
    Optimizer,
    OptimizerState,
    Problem,
    UnreadableState,
)
from graphwright.planner.optimizers.pretests import Pretests
from graphwright.planner.optimizers.stage import SearchStage
from graphwright.search.trial import Candidate, Trial

VERSION = "agent-reinforce/1"

_STAGE: TypeAdapter[SearchStage] = TypeAdapter(
    Annotated[Pretests | Instances | Loop, Field(discriminator="kind")]
)


class AgentReinforce(Optimizer):
    """Passes everything to the current stage."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._stage: SearchStage = Pretests()

    def suggest(self, count: int) -> Sequence[Candidate]:
        return self._stage.suggest(self.problem, count)

    def update(self, completed: Sequence[Trial]) -> None:
        self._stage = self._stage.learn(self.problem, completed)

    def consult(self) -> AgentRequest | None:
        return self._stage.request(self.problem)

    def advise(self, advice: Advice) -> None:
        self._stage = self._stage.advise(self.problem, advice)

    def incumbent(self) -> Graph:
        return self._stage.incumbent(self.problem)

    def dump(self) -> OptimizerState:
        return {"version": VERSION, "stage": self._stage.model_dump(mode="json")}

    def load(self, state: OptimizerState) -> None:
        if state.get("version") != VERSION:
            raise UnreadableState(VERSION, state.get("version"))
        self._stage = _STAGE.validate_python(state["stage"])
