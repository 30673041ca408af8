"""What a user asks for: the specification of one search."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from graphwright.search.budget import Budget

Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class AgentKind(StrEnum):
    """Who guides an optimizer that consults an agent."""

    RULE = "rule"
    LLM = "llm"


class SearchSpec(BaseModel):
    """One search: task, pool, budget, and how to search (DESIGN §6 gives the defaults).

    `iterations` counts rounds after initialisation; `graphs` are evaluated in each, on one shared
    mini-batch of `batch` training questions. The search ends after `patience` iterations without
    a better validation score of the incumbent. `share_draws` gives equal calls of different
    candidates the same random draw (common random numbers).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: Name
    pool: Name
    budget: Budget
    optimizer: Name = "agent-reinforce"
    agent: AgentKind = AgentKind.RULE
    seed: Seed = 0
    iterations: int = Field(default=30, ge=1, le=1000)
    patience: int = Field(default=10, ge=1, le=1000)
    graphs: int = Field(default=4, ge=1, le=64)
    batch: int = Field(default=24, ge=1, le=1024)
    max_nodes: int = Field(default=24, ge=1, le=96)
    temperature: float = Field(default=0.9, ge=0, le=2, allow_inf_nan=False)
    top_p: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    share_draws: bool = True
