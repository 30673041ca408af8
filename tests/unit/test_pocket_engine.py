"""The pocket engine: weights, prompt, parameters and seed decide a completion, nothing else."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

sys.path.insert(0, str(Path(__file__).parents[2] / "infra" / "triton" / "pocket"))

import kernels
from engine import Engine, Request, RequestError

POCKET = Path(__file__).parents[2] / "infra" / "triton" / "pocket"
FOLDER = POCKET / "weights" / "abacus-55k"
PROMPTS = (
    "Q 247+38-125+361\nA ",
    "Q 5+6\nA ",
    "Q 247+38-125\nF 247+38=285-125=160\nF 247+38=275-125=150\nA ",
    "Q 999+999+999+999\nR 999+999=1998+999=2997+999=3996\nA ",
    "anything",
)
WARM = Request("Q 247+38-125+361\nA ", 40, temperature=1.3, seed=3)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(FOLDER)


@pytest.fixture(scope="module")
def mixed() -> list[Request]:
    return [
        replace(WARM, prompt=PROMPTS[i % 5], max_tokens=10 + i, seed=i, temperature=0.5 + i / 20)
        for i in range(30)
    ]


def _tokens(text: str) -> NDArray[np.int64]:
    vocabulary = json.loads((FOLDER / "tokenizer.json").read_text())["model"]["vocab"]
    return np.array([vocabulary[character] for character in text])


def _cache(engine: Engine, length: int) -> kernels.Cache:
    layers, size = engine.weights.qkv.shape[:2]
    keys = np.zeros((1, layers, size, length), np.float32)
    return kernels.Cache(keys, np.zeros((1, layers, length, size), np.float32))


def _rows(tokens: NDArray[np.int64], first: int) -> kernels.Rows:
    count = len(tokens)
    return kernels.Rows(tokens, np.zeros(count, np.int64), np.arange(first, first + count))


def _reference(text: str) -> NDArray[np.float64]:
    """Hidden states by the textbook: whole matrices, double precision, no cache."""
    config = json.loads((FOLDER / "config.json").read_text())
    tensors = {k: v.astype(np.float64) for k, v in load_file(FOLDER / "model.safetensors").items()}
    size, head = config["hidden_size"], config["head_dim"]
    x = tensors["model.embed_tokens.weight"][_tokens(text)]
    length = len(x)
    frequencies = config["rope_theta"] ** (-np.arange(0, head, 2) / head)
    angle = np.tile(np.arange(length)[:, None] * frequencies, 2)

    def norm(x: NDArray[np.float64], gain: NDArray[np.float64]) -> NDArray[np.float64]:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + config["rms_norm_eps"]) * gain

    def rope(x: NDArray[np.float64]) -> NDArray[np.float64]:
        turned = np.concatenate([-x[:, head // 2 :], x[:, : head // 2]], -1)
        return x * np.cos(angle) + turned * np.sin(angle)

    hidden_future = np.triu(np.full((length, length), -np.inf), 1)
    for layer in range(config["num_hidden_layers"]):
        w = {
            name.split(".", 3)[3].removesuffix(".weight"): tensor
            for name, tensor in tensors.items()
            if name.startswith(f"model.layers.{layer}.")
        }
        y = norm(x, w["input_layernorm"])
        q, k, v = (y @ w[f"self_attn.{part}_proj"].T for part in "qkv")
        heads = []
        for h in range(0, size, head):
            cut = slice(h, h + head)
            scores = rope(q[:, cut]) @ rope(k[:, cut]).T / math.sqrt(head) + hidden_future
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ v[:, cut])
        x = x + np.concatenate(heads, -1) @ w["self_attn.o_proj"].T
        y = norm(x, w["post_attention_layernorm"])
        gate = y @ w["mlp.gate_proj"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w["mlp.up_proj"].T)) @ w["mlp.down_proj"].T
    return norm(x, tensors["model.norm.weight"])


def test_it_computes_what_a_plain_llama_computes(engine: Engine) -> None:
    text = PROMPTS[2] + "247+38=285"
    ours = kernels.forward(engine.weights, _cache(engine, len(text)), _rows(_tokens(text), 0))
    np.testing.assert_allclose(ours, _reference(text), rtol=2e-3, atol=2e-4)


def test_the_cache_changes_no_bit(engine: Engine) -> None:
    tokens = _tokens(PROMPTS[2])
    whole = kernels.forward(engine.weights, _cache(engine, 99), _rows(tokens, 0))
    cache = _cache(engine, 150)
    singly = [
        kernels.forward(engine.weights, cache, _rows(tokens[i : i + 1], i))
        for i in range(len(tokens))
    ]
    assert np.concatenate(singly).tobytes() == whole.tobytes()


def test_company_changes_nothing(engine: Engine, mixed: list[Request]) -> None:
    together = engine.complete(mixed)
    assert [engine.complete([request])[0] for request in mixed] == together
    assert engine.complete(mixed[::-1])[::-1] == together
    assert engine.complete(mixed[7:11]) == together[7:11]


def test_the_seed_decides(engine: Engine) -> None:
    seeds = [replace(WARM, seed=seed) for seed in range(40)]
    first, second = engine.complete(seeds), engine.complete(seeds)
    assert first == second
    assert len({done.text for done in first}) > 1


def test_greedy_ignores_the_seed(engine: Engine) -> None:
    cold = [replace(WARM, temperature=0.0, seed=seed) for seed in range(5)]
    narrow = [replace(WARM, top_k=1, seed=seed) for seed in range(5)]
    assert len({done.text for done in engine.complete(cold + narrow)}) == 1


def test_an_answer_ends_at_the_newline_or_the_limit(engine: Engine) -> None:
    request = replace(WARM, temperature=0.0, max_tokens=64)
    done = engine.complete([request])[0]
    assert "\n" not in done.text
    assert done.output_tokens == len(done.text) < 64
    assert done.input_tokens == len(WARM.prompt)
    short = engine.complete([replace(request, max_tokens=5)])[0]
    assert (short.text, short.output_tokens) == (done.text[:5], 5)


def test_stop_words_end_the_text_and_are_left_out(engine: Engine) -> None:
    request = replace(WARM, temperature=0.0, max_tokens=64)
    text = engine.complete([request])[0].text
    word = text[4:7]
    done = engine.complete([replace(request, stop_words=("never", word))])[0]
    assert done.text == text[: text.index(word)]
    assert done.output_tokens == len(done.text)


def test_text_ends_where_the_context_ends(engine: Engine) -> None:
    prompt = "Q " + "1+" * ((engine.context - 8) // 2)
    done = engine.complete([replace(WARM, prompt=prompt, max_tokens=500, temperature=50.0)])[0]
    assert done.input_tokens + done.output_tokens <= engine.context


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 100_000}, "max_tokens"),
        ({"prompt": "1" * 2000}, "text_input"),
        ({"prompt": ""}, "text_input"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_k": -1}, "top_k"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(
    engine: Engine, change: dict[str, object], named: str
) -> None:
    with pytest.raises(RequestError, match=named):
        engine.complete([replace(WARM, **change)])


def test_unknown_characters_are_read_as_unknown(engine: Engine) -> None:
    done = engine.complete([replace(WARM, prompt="Q 1ü2\nA "), replace(WARM, prompt="Q 1→2\nA ")])
    assert done[0] == done[1]
    assert done[0].input_tokens == 8


def test_a_request_given_up_stops_and_the_others_go_on(engine: Engine) -> None:
    requests = [replace(WARM, seed=seed) for seed in range(3)]
    free = engine.complete(requests)
    calls = iter(range(1000))
    done = engine.complete(requests, lambda: [1] if next(calls) == 3 else [])
    assert done[1].cancelled
    assert done[1].text == free[1].text[:4]
    assert (done[0], done[2]) == (free[0], free[2])


def test_sampling_follows_the_distribution() -> None:
    logits = np.log(np.array([0.5, 0.2, 0.2, 0.1], np.float32))
    draws = [kernels.uniform(np.uint64(9), place) for place in range(4000)]
    assert all(0.0 <= draw < 1.0 for draw in draws)
    for k, p, expected in (
        (0, 1.0, [0.5, 0.2, 0.2, 0.1]),
        (2, 1.0, [5 / 7, 2 / 7, 0.0, 0.0]),
        (0, 0.6, [5 / 7, 2 / 7, 0.0, 0.0]),
        (0, 0.3, [1.0, 0.0, 0.0, 0.0]),
    ):
        chosen = [kernels.choose(logits, 1.0, k, p, draw) for draw in draws]
        shares = np.bincount(chosen, minlength=4) / len(chosen)
        np.testing.assert_allclose(shares, expected, atol=0.03)
