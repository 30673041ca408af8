"""The language-model port.

ModelError
├── ModelUnavailable   the server cannot be reached or is overloaded; may be tried again
├── DeadlineExceeded   no answer in time
├── RequestRejected    the server refuses this request (too long a prompt, say); never try again
└── ContractMismatch   the served model does not offer the tensors its dialect needs
"""

from abc import ABC, abstractmethod

from graphwright.search.calls import Completion, Sampling


class ModelError(Exception):
    """Root of the model errors; `model` names the model."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(f"{model}: {reason}")
        self.model = model
        self.reason = reason


class ModelUnavailable(ModelError):
    """The server cannot be reached or is overloaded."""


class DeadlineExceeded(ModelError):
    """The server did not answer in time."""


class RequestRejected(ModelError):
    """The server refuses this very request."""


class ContractMismatch(ModelError):
    """The served model lacks tensors that its dialect needs."""


class LanguageModel(ABC):
    """One served model."""

    @abstractmethod
    async def complete(
        self, prompt: str, sampling: Sampling, *, seed: int, timeout: float
    ) -> Completion:
        """Continue a prompt; the text excludes the prompt and the stop string.

        Equal arguments give equal texts. `timeout` is in seconds.

        Raises:
            ModelError: see the module.
        """

    @abstractmethod
    async def check(self) -> None:
        """Raise a ModelError unless the model can serve."""

    @abstractmethod
    async def close(self) -> None:
        """Release connections."""
