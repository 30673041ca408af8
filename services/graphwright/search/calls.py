"""One language-model call: its sampling parameters, its seed, its identity and its completion.

A call is a pure function of (model, prompt, sampling, seed), which is what makes a search
repeatable and equal calls shareable.
"""

from collections.abc import Iterable
from hashlib import blake2b

from pydantic import BaseModel, ConfigDict, Field


class Sampling(BaseModel):
    """Sampling parameters; every one is sent with every call (`top_k` 0 = unrestricted)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float = Field(default=0.9, ge=0, allow_inf_nan=False)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    max_tokens: int = Field(ge=1, le=1_000_000)
    stop: tuple[str, ...] = ()


class Completion(BaseModel):
    """What a model answered, what it consumed (tokens) and how long it took (seconds)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    prompt_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    seconds: float = Field(ge=0)
    finish_reason: str = "stop"


def call_seed(seed: int, epoch: str, question_id: str, signature: str) -> int:
    """The 63-bit seed of the call that node `signature` makes on a question."""
    return int.from_bytes(_digest((str(seed), epoch, question_id, signature))[:8], "big") >> 1


def call_key(model: str, prompt: str, sampling: Sampling, seed: int) -> str:
    """The identity of a call: equal keys mean equal completions.

    `model` names the weights, not only the model.
    """
    return _digest((model, prompt, sampling.model_dump_json(), str(seed)))[:20].hex()


def _digest(parts: Iterable[str]) -> bytes:
    digest = blake2b(digest_size=32)
    for part in parts:
        encoded = part.encode()
        # A length prefix keeps ("ab", "c") and ("a", "bc") apart.
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()
