"""Triton's refusals as model errors."""

from collections.abc import Mapping

from tritonclient.utils import InferenceServerException

from graphwright.inference.port import (
    ContractMismatch,
    DeadlineExceeded,
    ModelError,
    ModelUnavailable,
    RequestRejected,
)

_KINDS: Mapping[str, type[ModelError]] = {
    "UNAVAILABLE": ModelUnavailable,
    "RESOURCE_EXHAUSTED": ModelUnavailable,
    "CANCELLED": ModelUnavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "NOT_FOUND": ContractMismatch,
}

# INTERNAL tells of this very request, unless it is about the backend's process or the connection.
_BROKEN = ("stub process", "healthy", "rst_stream", "goaway", "connection", "socket")


def model_error(model: str, error: InferenceServerException) -> ModelError:
    """The model error that tells a caller what to do about a failed request.

    What the server says about the request itself (INVALID_ARGUMENT, INTERNAL and the like) is a
    RequestRejected.
    """
    code = str(error.status() or "UNKNOWN").removeprefix("StatusCode.")
    reason = str(error.message() or code).strip().splitlines()[0]
    if code == "INTERNAL" and any(word in reason.lower() for word in _BROKEN):
        return ModelUnavailable(model, reason)
    return _KINDS.get(code, RequestRejected)(model, reason)
