"""The pocket engine: loads a Llama checkpoint and completes prompts, many at a time.

A completion is a pure function of (weights, prompt, sampling parameters, seed), bit for bit; which
other prompts run beside it, and when it was admitted, changes nothing (see `kernels`).
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from kernels import Cache, Floats, Ints, Rows, Sampling, Weights, forward, sample
from safetensors.numpy import load_file

BLOCK = 32
"""Rows per pass through the network: enough to reuse a cached matrix, few enough to stay cached."""


@dataclass(frozen=True)
class Request:
    """One prompt and how to complete it; a temperature of 0 or a top_k of 1 is greedy."""

    prompt: str
    max_tokens: int
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    stop_words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Completion:
    """The text that follows a prompt, without the stop word that may have ended it."""

    text: str
    input_tokens: int
    output_tokens: int
    cancelled: bool = False


class RequestError(ValueError):
    """A request that this model cannot serve; the message says why."""


class Row:
    """One request on its way through the engine."""

    def __init__(self, request: Request, tokens: list[int], limit: int) -> None:
        self.request = request
        self.tokens = tokens
        self.limit = limit
        self.text = ""
        self.taken = 0
        self.done = False
        self.cancelled = False

    def append(self, character: str, ended: bool) -> None:
        """Take the next character, and notice whether it was the last."""
        if ended:
            self.done = True
            return
        self.text += character
        self.taken += 1
        self.done = self.taken >= self.limit
        for word in self.request.stop_words:
            if word and self.text.endswith(word):
                self.text = self.text[: -len(word)]
                self.taken -= len(word)
                self.done = True
                return

    def cancel(self) -> None:
        """Give the request up, unless it is complete already."""
        if not self.done:
            self.done = self.cancelled = True

    def completion(self) -> Completion:
        """What came of the request."""
        return Completion(self.text, len(self.tokens), self.taken, self.cancelled)


class Engine:
    """One loaded model. `complete` may be called from several threads at once."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        self.context: int = config["max_position_embeddings"]
        self.weights = load(folder / "model.safetensors", config)
        self._end: int = config["eos_token_id"]
        self._numbers: dict[str, int] = vocabulary
        self._unknown = vocabulary["<unk>"]
        self._characters = [""] * len(vocabulary)
        for character, number in vocabulary.items():
            self._characters[number] = character if len(character) == 1 else ""

    def check(self, request: Request) -> None:
        """Raise `RequestError` for what cannot be served."""
        if not 1 <= request.max_tokens <= self.context:
            raise RequestError(f"max_tokens is {request.max_tokens}, not within 1..{self.context}")
        if not 1 <= len(request.prompt) < self.context:
            raise RequestError(
                f"text_input has {len(request.prompt)} tokens, not within 1..{self.context - 1}"
            )
        if not 0.0 <= request.temperature <= 100.0:
            raise RequestError(f"temperature is {request.temperature}, not within 0..100")
        if not 0.0 < request.top_p <= 1.0:
            raise RequestError(f"top_p is {request.top_p}, not within 0..1 (0 excluded)")
        if request.top_k < 0:
            raise RequestError(f"top_k is {request.top_k}, below 0")

    def complete(
        self,
        requests: Sequence[Request],
        cancelled: Callable[[], Collection[int]] = tuple,
    ) -> list[Completion]:
        """Complete all requests; between tokens `cancelled()` names those to give up."""
        rows = [self._row(request) for request in requests]
        if not rows:
            return []
        cache, how = self._cache(rows), _sampling(requests)
        active = list(range(len(rows)))
        hidden = self._prefill(cache, rows)
        count = 0
        while active:
            slots = np.array(active)
            chosen = sample(self.weights, hidden, slots, count, how)
            for index, token in zip(active, chosen.tolist(), strict=True):
                rows[index].append(self._characters[token], token == self._end)
            for index in cancelled():
                rows[index].cancel()
            going = [at for at, index in enumerate(active) if not rows[index].done]
            active = [active[at] for at in going]
            if active:
                hidden = self._decode(cache, rows, active, chosen[going], count)
            count += 1
        return [row.completion() for row in rows]

    def _row(self, request: Request) -> Row:
        self.check(request)
        tokens = [self._numbers.get(character, self._unknown) for character in request.prompt]
        return Row(request, tokens, min(request.max_tokens, self.context - len(tokens)))

    def _cache(self, rows: Sequence[Row]) -> Cache:
        longest = max(len(row.tokens) + row.limit for row in rows)
        layers, size = self.weights.qkv.shape[:2]
        keys = np.empty((len(rows), layers, size, longest), np.float32)
        return Cache(keys, np.empty((len(rows), layers, longest, size), np.float32))

    def _prefill(self, cache: Cache, rows: Sequence[Row]) -> Floats:
        """Read all prompts; returns the hidden state of each one's last token."""
        lengths = [len(row.tokens) for row in rows]
        tokens = np.concatenate([row.tokens for row in rows]).astype(np.int64)
        slots = np.repeat(np.arange(len(rows)), lengths)
        positions = np.concatenate([np.arange(length) for length in lengths])
        hidden = self._forward(cache, tokens, slots, positions)
        last: Floats = hidden[np.cumsum(lengths) - 1]
        return last

    def _decode(
        self, cache: Cache, rows: Sequence[Row], active: Sequence[int], tokens: Ints, count: int
    ) -> Floats:
        """Read the token just chosen for every active row."""
        positions = np.array([len(rows[index].tokens) + count for index in active])
        return self._forward(cache, tokens, np.array(active), positions)

    def _forward(self, cache: Cache, tokens: Ints, slots: Ints, positions: Ints) -> Floats:
        cuts = [slice(start, start + BLOCK) for start in range(0, len(tokens), BLOCK)]
        reads = [Rows(tokens[cut], slots[cut], positions[cut]) for cut in cuts]
        return np.concatenate([forward(self.weights, cache, read) for read in reads])


def _sampling(requests: Sequence[Request]) -> Sampling:
    return Sampling(
        np.array([r.temperature for r in requests], np.float32),
        np.array([r.top_k for r in requests], np.int64),
        np.array([r.top_p for r in requests], np.float32),
        np.array([r.seed for r in requests], np.uint64),
    )


def load(path: Path, config: dict[str, int | float]) -> Weights:
    """Read a checkpoint into the layout of the kernels, widened to single precision."""
    tensors = {name: array.astype(np.float32) for name, array in load_file(path).items()}

    def stacked(*names: str) -> Floats:
        prefixes = [f"model.layers.{layer}" for layer in range(int(config["num_hidden_layers"]))]
        layers = [
            np.concatenate([tensors[f"{prefix}.{name}.weight"] for name in names]).T
            for prefix in prefixes
        ]
        return np.ascontiguousarray(np.stack(layers))

    half = int(config["head_dim"]) // 2
    frequencies = float(config["rope_theta"]) ** (-np.arange(half) / half)
    angles = np.arange(int(config["max_position_embeddings"]))[:, None] * frequencies
    return Weights(
        embedding=tensors["model.embed_tokens.weight"],
        attention_norm=stacked("input_layernorm"),
        qkv=stacked("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out=stacked("self_attn.o_proj"),
        ffn_norm=stacked("post_attention_layernorm"),
        gate_up=stacked("mlp.gate_proj", "mlp.up_proj"),
        down=stacked("mlp.down_proj"),
        norm=tensors["model.norm.weight"],
        head=np.ascontiguousarray(tensors["lm_head.weight"].T),
        cos=np.cos(angles).astype(np.float32),
        sin=np.sin(angles).astype(np.float32),
        epsilon=np.float32(config["rms_norm_eps"]),
    )
