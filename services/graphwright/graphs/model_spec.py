"""The facts that prices are computed from: one record per model, one per task.

Source: Agent-REINFORCE, appendix A.7 (symbols M, L, D, N_p, N_d) and A.10 (token prices).
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class UnknownModelError(KeyError):
    """A model name that the cost model was not given."""

    def __init__(self, model: str, known: Sequence[str]) -> None:
        """Remember the name asked for and those that exist."""
        self.model, self.known = model, tuple(known)
        super().__init__(model)

    def __str__(self) -> str:
        """Name the model; KeyError alone would only quote it."""
        return f"model {self.model!r} is unknown to the cost model (known: {', '.join(self.known)})"


class DuplicateModelError(ValueError):
    """Two specifications with one name."""

    def __init__(self, model: str) -> None:
        """Remember the name."""
        self.model = model
        super().__init__(f"model {model!r} is specified more than once")


class ModelSpec(BaseModel):
    """The facts of a model that decide its cost.

    `parameters` counts non-embedding weights; prices are dollars for a million tokens.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=128)]
    family: str
    parameters: _Positive
    layers: Annotated[int, Field(ge=1)]
    hidden_size: Annotated[int, Field(ge=1)]
    usd_per_million_input: _Price = 0.0
    usd_per_million_output: _Price = 0.0


class TaskLengths(BaseModel):
    """Mean tokens of a task: N_p of the root prompt and N_d of an output (appendix A.7)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: _Positive
    output: _Positive
