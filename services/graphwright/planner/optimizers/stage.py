"""The stages of Agent-REINFORCE share one shape: plain data with the methods of an optimizer."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from graphwright.graphs.graph import Graph
from graphwright.planner.agent.port import Advice, AgentRequest
from graphwright.planner.optimizers.port import Problem
from graphwright.search.trial import Candidate, Trial


class UnexpectedAdvice(TypeError):
    """Advice of a kind that was not asked for."""

    def __init__(self, stage: str, advice: Advice) -> None:
        super().__init__(f"the {stage} stage did not ask for {advice.kind!r}")


class SearchStage(BaseModel, ABC):
    """One stage; what ends a stage returns the next one.

    `first` is the number of the first candidate that the stage may propose.
    """

    model_config = ConfigDict(extra="forbid")

    first: int = 0

    @abstractmethod
    def suggest(self, problem: Problem, count: int) -> Sequence[Candidate]:
        """At most `count` candidates; the same ones until results come in."""

    @abstractmethod
    def learn(self, problem: Problem, trials: Sequence[Trial]) -> "SearchStage":
        """Take results in; trials of other stages or already known are passed over."""

    @abstractmethod
    def request(self, problem: Problem) -> AgentRequest | None:
        """What to ask the agent before going on."""

    @abstractmethod
    def advise(self, problem: Problem, advice: Advice) -> "SearchStage":
        """Take the agent's advice. Raises UnexpectedAdvice."""

    @abstractmethod
    def incumbent(self, problem: Problem) -> Graph:
        """The best graph as far as the stage can tell."""


def candidate_id(number: int) -> str:
    """Ids that sort in the order of proposal."""
    return f"t{number:05d}"
