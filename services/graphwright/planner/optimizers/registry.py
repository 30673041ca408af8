"""The optimizers by name: to add one, write its file and add its line here."""

from collections.abc import Callable, Mapping

from graphwright.planner.optimizers.agent_reinforce import AgentReinforce
from graphwright.planner.optimizers.port import Optimizer, Problem
from graphwright.planner.optimizers.random_search import RandomSearch

OPTIMIZERS: Mapping[str, Callable[[Problem], Optimizer]] = {
    "agent-reinforce": AgentReinforce,
    "random": RandomSearch,
}
