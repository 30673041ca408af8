"""A Triton Python model that does what its prompts say, for tests of the client.

It answers with the parameters that arrived. Words of the prompt are commands: `boom` makes the
whole execution fail, `refused` makes it answer this request with an error, `slow` lets it wait
until its client gives up, and `stop` puts the stop string END into the answer.
"""

import json
from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

PATIENCE_SECONDS = 20.0
LOOK_SECONDS = 0.01


class TritonPythonModel:
    """Loaded by Triton, one object per model instance."""

    def initialize(self, args: dict[str, str]) -> None:
        """Learn which inputs this variant offers."""
        config = json.loads(args["model_config"])
        self._inputs = [tensor["name"] for tensor in config["input"]]
        self._outputs = [tensor["name"] for tensor in config["output"]]
        self._given_up = 0

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer all requests, in order."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        columns = {name: _column(request, name) for name in self._inputs}
        prompts = [row[0] for row in columns.pop("text_input")]
        if any("boom" in prompt for prompt in prompts):
            raise ValueError("the model went boom")
        if any("refused" in prompt for prompt in prompts):
            error = pb_utils.TritonError("refused as asked", pb_utils.TritonError.INVALID_ARG)
            return pb_utils.InferenceResponse(error=error)
        if any("slow" in prompt for prompt in prompts):
            self._wait(request)
        texts = [self._text(prompt, row, columns, prompts) for row, prompt in enumerate(prompts)]
        returned = {
            "text_output": np.array([[text.encode()] for text in texts], dtype=np.object_),
            "num_input_tokens": np.array([[len(p)] for p in prompts], dtype=np.int32),
            "num_output_tokens": np.array([[3] for _ in prompts], dtype=np.int32),
        }
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor(name, returned[name]) for name in self._outputs]
        )

    def _text(
        self, prompt: str, row: int, columns: dict[str, list[list[Any]]], prompts: Sequence[str]
    ) -> str:
        seen: dict[str, Any] = {name: rows[row] for name, rows in columns.items() if rows}
        # In lower case, for else the report itself would hold the stop strings.
        seen["stop_words"] = [word.lower() for word in seen.get("stop_words", [])]
        seen |= {"rows": len(prompts), "given_up": self._given_up}
        echo = "" if columns.get("exclude_input_in_output") else prompt
        return echo + json.dumps(seen) + (" END and more" if "stop" in prompt else "")

    def _wait(self, request: Any) -> None:
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            if request.is_cancelled():
                self._given_up += 1
                return
            Event().wait(LOOK_SECONDS)


def _column(request: Any, name: str) -> list[list[Any]]:
    """The values of one input, a list per row; empty where it was not sent."""
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    rows = [] if tensor is None else tensor.as_numpy().tolist()
    return [[value.decode() if isinstance(value, bytes) else value for value in r] for r in rows]
