"""Rows of a request as tensors, and tensors of a response as answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike
from tritonclient.grpc import InferInput, InferResult

from graphwright.inference.dialects import Contract
from graphwright.search.calls import Sampling

_TYPES: dict[str, DTypeLike] = {
    "BYTES": np.object_,
    "INT32": np.int32,
    "FP32": np.float32,
    "UINT64": np.uint64,
    "BOOL": np.bool_,
}


@dataclass(frozen=True)
class Row:
    """One prompt of a request; `deadline` in the event loop's seconds."""

    prompt: str
    sampling: Sampling
    seed: int
    deadline: float


@dataclass(frozen=True)
class Answer:
    """One row of a response."""

    text: str
    prompt_tokens: int
    output_tokens: int
    finish_reason: str


def request_tensors(contract: Contract, rows: Sequence[Row]) -> list[InferInput]:
    """Tensors [rows, 1] with every sampling parameter; all rows have equally many stop strings."""
    names = contract.dialect
    samplings = [row.sampling for row in rows]
    return [
        _tensor(names.prompt, "BYTES", [[row.prompt.encode()] for row in rows]),
        _tensor(names.max_tokens, "INT32", [[s.max_tokens] for s in samplings]),
        _tensor(names.temperature, "FP32", [[_temperature(s)] for s in samplings]),
        _tensor(names.top_p, "FP32", [[s.top_p] for s in samplings]),
        _tensor(names.top_k, "INT32", [[_top_k(s)] for s in samplings]),
        _tensor(contract.seed, "UINT64", [[row.seed % 2**64] for row in rows]),
        # The empty string is this layout's way to say that there are none.
        _tensor(names.stop, "BYTES", [[w.encode() for w in s.stop or ("",)] for s in samplings]),
        *(_tensor(flag, "BOOL", [[True]] * len(rows)) for flag in contract.flags),
    ]


def response_answers(contract: Contract, rows: Sequence[Row], result: InferResult) -> list[Answer]:
    """The answers in the order of the rows."""
    names = contract.dialect
    columns = (
        result.as_numpy(name).reshape(len(rows), -1)[:, 0]
        for name in (names.text, names.prompt_tokens, names.output_tokens)
    )
    return [
        _answer(row, text.decode(errors="replace"), int(taken), int(given), contract.echoes)
        for row, text, taken, given in zip(rows, *columns, strict=True)
    ]


def _tensor(name: str, datatype: str, values: Sequence[Sequence[object]]) -> InferInput:
    array = np.array(values, dtype=_TYPES[datatype])
    tensor = InferInput(name, list(array.shape), datatype)
    return tensor.set_data_from_numpy(array)


def _temperature(sampling: Sampling) -> float:
    return sampling.temperature or 1.0


def _top_k(sampling: Sampling) -> int:
    """Releases differ on temperature 0; all agree that one candidate is the likeliest token."""
    return 1 if sampling.temperature == 0 else sampling.top_k


def _answer(row: Row, text: str, taken: int, given: int, echoes: bool) -> Answer:
    continuation = text.removeprefix(row.prompt) if echoes else text
    # Servers match stop strings as tokens, and so miss those that are tokenised differently.
    ends = [continuation.find(word) for word in row.sampling.stop if word in continuation]
    if ends:
        return Answer(continuation[: min(ends)], taken, given, "stop")
    reason = "length" if given >= row.sampling.max_tokens else "stop"
    return Answer(continuation, taken, given, reason)
