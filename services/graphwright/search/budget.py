"""The inference budget a collaboration graph must fit (paper §3, A.8)."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class BudgetMetric(StrEnum):
    """What a budget counts.

    `FLOPS` counts units of one root call of the pool's smallest model, `USD` dollars per
    question, `LATENCY` seconds per question.
    """

    FLOPS = "flops"
    USD = "usd"
    LATENCY = "latency"


class Budget(BaseModel):
    """A limit on what one question may cost at inference."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: BudgetMetric = BudgetMetric.FLOPS
    limit: float = Field(gt=0, le=1e9, allow_inf_nan=False)
