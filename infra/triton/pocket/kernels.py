"""The arithmetic of the pocket engine, compiled by numba.

Every number is computed by the same sequence of IEEE operations whatever else is in the batch:
sums run over one index in ascending order, and vector instructions only ever span independent
results (the axpy form `out[j] += x[k] * w[k, j]`; keys are stored transposed for the same reason).
Without `fastmath` the compiler may not reorder them. So a row's result is bitwise the same alone,
in a crowd, in the prompt or one token at a time.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
UNROLL = 8
"""Sizes of matrix inputs must be multiples of this."""

_ONE = np.float32(1.0)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


class Weights(NamedTuple):
    """One network; matrices are stored input-major, stacked over the layers."""

    embedding: Floats
    attention_norm: Floats
    qkv: Floats
    out: Floats
    ffn_norm: Floats
    gate_up: Floats
    down: Floats
    norm: Floats
    head: Floats
    cos: Floats
    sin: Floats
    epsilon: np.float32


class Rows(NamedTuple):
    """What one pass reads: tokens, the slots they belong to and their positions there."""

    tokens: Ints
    slots: Ints
    positions: Ints


class Cache(NamedTuple):
    """Keys (slot, layer, feature, position) and values (slot, layer, position, feature)."""

    keys: Floats
    values: Floats


class Sampling(NamedTuple):
    """Per slot: how the next token is chosen."""

    temperature: Floats
    top_k: Ints
    top_p: Floats
    seed: NDArray[np.uint64]


@njit(cache=True, nogil=True)
def _multiply(x: Floats, w: Floats, out: Floats, rows: int) -> None:
    """out[i, :] = sum over k, ascending, of x[i, k] * w[k, :]."""
    for i in range(rows):
        out[i, :] = np.float32(0.0)
    for k in range(0, w.shape[0], UNROLL):
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        w4, w5, w6, w7 = w[k + 4], w[k + 5], w[k + 6], w[k + 7]
        for i in range(rows):
            x0, x1, x2, x3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            x4, x5, x6, x7 = x[i, k + 4], x[i, k + 5], x[i, k + 6], x[i, k + 7]
            o = out[i]
            for j in range(w.shape[1]):
                low = o[j] + x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
                o[j] = low + x4 * w4[j] + x5 * w5[j] + x6 * w6[j] + x7 * w7[j]


@njit(cache=True, nogil=True)
def _normalize(x: Floats, gain: Floats, out: Floats, rows: int, epsilon: np.float32) -> None:
    """Root-mean-square normalization of every row."""
    size = x.shape[1]
    for i in range(rows):
        total = np.float32(0.0)
        for j in range(size):
            total += x[i, j] * x[i, j]
        scale = _ONE / np.float32(math.sqrt(total / np.float32(size) + epsilon))
        for j in range(size):
            out[i, j] = x[i, j] * scale * gain[j]


@njit(cache=True, nogil=True)
def _rotate(vector: Floats, cos: Floats, sin: Floats) -> None:
    """Rotary position embedding in place; each head is two halves of cosines' length."""
    half = cos.shape[0]
    for start in range(0, vector.shape[0], 2 * half):
        for c in range(half):
            a, b = vector[start + c], vector[start + half + c]
            vector[start + c] = a * cos[c] - b * sin[c]
            vector[start + half + c] = b * cos[c] + a * sin[c]


@njit(cache=True, nogil=True)
def _attend(query: Floats, keys: Floats, values: Floats, scores: Floats, out: Floats) -> None:
    """Attention of one head of one row; keys (feature, position), values (position, feature)."""
    size, length = keys.shape
    scale = _ONE / np.float32(math.sqrt(np.float32(size)))
    scores[:length] = np.float32(0.0)
    for c in range(size):
        q, column = query[c] * scale, keys[c]
        for p in range(length):
            scores[p] += q * column[p]
    largest = scores[0]
    for p in range(1, length):
        largest = max(largest, scores[p])
    total = np.float32(0.0)
    for p in range(length):
        scores[p] = np.float32(math.exp(scores[p] - largest))
        total += scores[p]
    out[:] = np.float32(0.0)
    for p in range(length):
        share, row = scores[p] / total, values[p]
        for c in range(size):
            out[c] += share * row[c]


@njit(cache=True, nogil=True)
def forward(weights: Weights, cache: Cache, read: Rows) -> Floats:
    """Run rows through the network; returns their last hidden state.

    The rows of one slot must come in ascending position, its earlier positions being cached.
    """
    rows, size, epsilon = read.tokens.shape[0], weights.embedding.shape[1], weights.epsilon
    ffn, head = weights.down.shape[1], 2 * weights.cos.shape[1]
    x, normal = np.empty((rows, size), np.float32), np.empty((rows, size), np.float32)
    mixed, scores = np.empty((rows, size), np.float32), np.empty(cache.keys.shape[3], np.float32)
    qkv, wide = np.empty((rows, 3 * size), np.float32), np.empty((rows, 2 * ffn), np.float32)
    for i in range(rows):
        x[i] = weights.embedding[read.tokens[i]]
    for layer in range(weights.qkv.shape[0]):
        _normalize(x, weights.attention_norm[layer], normal, rows, epsilon)
        _multiply(normal, weights.qkv[layer], qkv, rows)
        for i in range(rows):
            slot, p = read.slots[i], read.positions[i]
            _rotate(qkv[i, : 2 * size], weights.cos[p], weights.sin[p])
            cache.keys[slot, layer, :, p] = qkv[i, size : 2 * size]
            cache.values[slot, layer, p] = qkv[i, 2 * size :]
            for h in range(0, size, head):
                keys = cache.keys[slot, layer, h : h + head, : p + 1]
                values = cache.values[slot, layer, : p + 1, h : h + head]
                _attend(qkv[i, h : h + head], keys, values, scores, mixed[i, h : h + head])
        _multiply(mixed, weights.out[layer], normal, rows)
        x += normal
        _normalize(x, weights.ffn_norm[layer], normal, rows, epsilon)
        _multiply(normal, weights.gate_up[layer], wide, rows)
        for i in range(rows):
            for j in range(ffn):
                gate = wide[i, j]
                wide[i, j] = gate / (_ONE + np.float32(math.exp(-gate))) * wide[i, ffn + j]
        _multiply(wide, weights.down[layer], normal, rows)
        x += normal
    _normalize(x, weights.norm, normal, rows, epsilon)
    return normal


@njit(cache=True, nogil=True)
def uniform(seed: np.uint64, position: int) -> float:
    """A number in [0, 1) that depends on the seed and the token's place alone (splitmix64)."""
    z = seed
    for step in (np.uint64(1), np.uint64(position) + np.uint64(1)):
        z = z + step * _GAMMA
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def choose(logits: Floats, temperature: float, top_k: int, top_p: float, draw: float) -> int:
    """Pick a token: the likeliest, or by inversion of the (truncated) distribution at `draw`."""
    size = logits.shape[0]
    order = np.arange(size)
    keep = size
    best = 0
    for j in range(1, size):
        if logits[j] > logits[best]:
            best = j
    if temperature <= 0.0 or top_k == 1:
        return best
    chance = np.empty(size, np.float64)
    for j in range(size):
        chance[j] = math.exp((float(logits[j]) - float(logits[best])) / temperature)
    if top_k > 0 or top_p < 1.0:
        for j in range(1, size):  # insertion sort, likeliest first, equal ones by number
            moved, at = order[j], j
            while at > 0 and chance[order[at - 1]] < chance[moved]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = moved
        keep = min(size, top_k) if top_k > 0 else size
        keep = _reach(chance, order, keep, top_p * _reached(chance, order, keep)) + 1
    token = order[_reach(chance, order, keep, draw * _reached(chance, order, keep))]
    return int(token)


@njit(cache=True, nogil=True)
def _reached(chance: NDArray[np.float64], order: Ints, keep: int) -> float:
    """The sum of the first `keep` chances."""
    total = 0.0
    for j in range(keep):
        total += chance[order[j]]
    return total


@njit(cache=True, nogil=True)
def _reach(chance: NDArray[np.float64], order: Ints, keep: int, target: float) -> int:
    """The place, among the first `keep`, at which the running sum of chances passes `target`."""
    running = 0.0
    for j in range(keep):
        running += chance[order[j]]
        if running > target:
            return j
    return keep - 1


@njit(cache=True, nogil=True)
def sample(weights: Weights, hidden: Floats, slots: Ints, count: int, how: Sampling) -> Ints:
    """The next token of each row, all of them at their `count`-th generated place."""
    rows = hidden.shape[0]
    logits = np.empty((rows, weights.head.shape[1]), np.float32)
    _multiply(hidden, weights.head, logits, rows)
    chosen = np.empty(rows, np.int64)
    for i in range(rows):
        s = slots[i]
        heat, likeliest, share = how.temperature[s], how.top_k[s], how.top_p[s]
        draw = uniform(how.seed[s], count)
        chosen[i] = choose(logits[i], float(heat), likeliest, float(share), draw)
    return chosen
