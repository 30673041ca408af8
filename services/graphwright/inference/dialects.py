"""How served models name the tensors of a completion, as data.

`ENGINE` is the layout of TensorRT-LLM engines behind Triton: the `ensemble` and `tensorrt_llm_bls`
models of `inflight_batcher_llm`. Its tensors have a batch dimension, so several prompts can ride in
one request. Releases differ in a few names; what a server offers is read from its metadata.
"""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """Tensor names; where several are given, releases differ and the first one offered is used."""

    prompt: str
    max_tokens: str
    temperature: str
    top_p: str
    top_k: str
    seed: tuple[str, ...]
    stop: str
    text: str
    prompt_tokens: str
    output_tokens: str
    flags: tuple[str, ...]
    """Inputs that are sent as true where they are offered: leave out the prompt, count tokens."""


ENGINE = Dialect(
    prompt="text_input",
    max_tokens="max_tokens",
    temperature="temperature",
    top_p="top_p",
    top_k="top_k",
    seed=("seed", "random_seed"),
    stop="stop_words",
    text="text_output",
    prompt_tokens="num_input_tokens",
    output_tokens="num_output_tokens",
    flags=("exclude_input_in_output", "return_num_input_tokens", "return_num_output_tokens"),
)


@dataclass(frozen=True)
class Contract:
    """What one served model agreed to: a dialect with the choices it leaves made."""

    dialect: Dialect
    seed: str
    flags: tuple[str, ...]
    max_rows: int

    @property
    def echoes(self) -> bool:
        """Whether the server cannot be told to leave the prompt out of the text."""
        return self.dialect.flags[0] not in self.flags


def missing(dialect: Dialect, inputs: Collection[str], outputs: Collection[str]) -> list[str]:
    """What the dialect needs and the model does not offer, for people to read."""
    wanted = (
        *(dialect.prompt, dialect.max_tokens, dialect.temperature),
        *(dialect.top_p, dialect.top_k, dialect.stop),
    )
    lacking = [f"input {name}" for name in wanted if name not in inputs]
    if not any(name in inputs for name in dialect.seed):
        lacking.append(f"input {dialect.seed[0]}")
    returned = (dialect.text, dialect.prompt_tokens, dialect.output_tokens)
    return lacking + [f"output {name}" for name in returned if name not in outputs]


def agree(dialect: Dialect, inputs: Collection[str], max_batch_size: int) -> Contract:
    """The contract with a model that lacks nothing."""
    return Contract(
        dialect=dialect,
        seed=next(name for name in dialect.seed if name in inputs),
        flags=tuple(name for name in dialect.flags if name in inputs),
        max_rows=max_batch_size,
    )
