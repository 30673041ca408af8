"""Triton's side of the pocket engine: the tensors of `inflight_batcher_llm`'s `ensemble`.

Every execution takes all requests that the dynamic batcher collected, each with one or more
prompts, and answers them together. A request that cannot be served gets an error of its own; one
that its client gave up stops computing within a few tokens.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.insert(0, str(Path(__file__).parent))

from engine import Completion, Engine, Request, RequestError

CANCELLATION_PERIOD = 8
"""Tokens between two looks at whether clients are still there."""


@dataclass
class Job:
    """One Triton request: its prompts, or why it is refused."""

    source: Any
    prompts: list[Request] = field(default_factory=list)
    echo: bool = True
    refusal: str | None = None


class TritonPythonModel:
    """Loaded by Triton's Python backend, one object per model instance."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the weights and compile (or fetch from the cache) what completing needs."""
        parameters = json.loads(args["model_config"]).get("parameters", {})
        weights = parameters.get("weights", {}).get("string_value", "")
        default = Path(__file__).parent / "weights" / args["model_name"]
        self._engine = Engine(Path(weights) if weights else default)
        self._engine.complete([Request("Q 1+1\nA ", 2, top_k=2)])

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer all requests, in order."""
        jobs = [self._job(request) for request in requests]
        rows = [(job, prompt) for job in jobs for prompt in job.prompts]
        watch = Watch([job for job, _ in rows])
        done = iter(self._engine.complete([prompt for _, prompt in rows], watch.cancelled))
        return [_response(job, [next(done) for _ in job.prompts]) for job in jobs]

    def _job(self, source: Any) -> Job:
        job = Job(source)
        try:
            job.echo = not _column(source, "exclude_input_in_output", 1, False)[0]
            prompts = _prompts(source)
            for prompt in prompts:
                self._engine.check(prompt)
            job.prompts = prompts
        except (RequestError, UnicodeDecodeError) as error:
            job.refusal = str(error)
        return job


class Watch:
    """Asks Triton now and then which requests were given up, and names their rows."""

    def __init__(self, owners: Sequence[Job]) -> None:
        self._rows: dict[int, list[int]] = {}
        self._jobs = {id(job): job for job in owners}
        self._calls = 0
        for row, job in enumerate(owners):
            self._rows.setdefault(id(job), []).append(row)

    def cancelled(self) -> list[int]:
        """The rows of all requests that were cancelled so far; looks every few calls only."""
        self._calls += 1
        if self._calls % CANCELLATION_PERIOD:
            return []
        gone = [key for key, job in self._jobs.items() if job.source.is_cancelled()]
        return [row for key in gone for row in self._rows[key]]


def _column(source: Any, name: str, rows: int, default: Any) -> list[Any]:
    """One value per prompt of an optional input; a single value serves all prompts."""
    tensor = pb_utils.get_input_tensor_by_name(source, name)
    if tensor is None:
        return [default] * rows
    values: list[Any] = tensor.as_numpy().reshape(-1).tolist()
    return values * rows if len(values) == 1 else values


def _prompts(source: Any) -> list[Request]:
    """The prompts of one Triton request with their sampling parameters."""
    texts = pb_utils.get_input_tensor_by_name(source, "text_input").as_numpy().reshape(-1)
    rows = len(texts)
    stop = pb_utils.get_input_tensor_by_name(source, "stop_words")
    stops = [()] * rows if stop is None else stop.as_numpy().reshape(rows, -1).tolist()
    columns = zip(
        texts.tolist(),
        _column(source, "max_tokens", rows, 0),
        _column(source, "temperature", rows, 1.0),
        _column(source, "top_k", rows, 0),
        _column(source, "top_p", rows, 1.0),
        _column(source, "seed", rows, 0),
        stops,
        strict=True,
    )
    return [
        Request(text.decode(), limit, heat, k, p, seed, tuple(word.decode() for word in words))
        for text, limit, heat, k, p, seed, words in columns
    ]


def _response(job: Job, completions: Sequence[Completion]) -> Any:
    if job.refusal is not None:
        return _error(job.refusal, pb_utils.TritonError.INVALID_ARG)
    if any(completion.cancelled for completion in completions):
        return _error("the client cancelled the request", pb_utils.TritonError.CANCELLED)
    texts = [
        (prompt.prompt if job.echo else "") + completion.text
        for prompt, completion in zip(job.prompts, completions, strict=True)
    ]
    encoded = np.array([[text.encode()] for text in texts], dtype=np.object_)
    taken = np.array([[completion.input_tokens] for completion in completions], dtype=np.int32)
    given = np.array([[completion.output_tokens] for completion in completions], dtype=np.int32)
    return pb_utils.InferenceResponse(
        [
            pb_utils.Tensor("text_output", encoded),
            pb_utils.Tensor("num_input_tokens", taken),
            pb_utils.Tensor("num_output_tokens", given),
        ]
    )


def _error(message: str, code: int) -> Any:
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))
