"""A Llama-architecture network in PyTorch, and its export as a Hugging Face style checkpoint.

RMSNorm before each block, rotary positions in the half-split layout, SwiGLU, no biases. Query, key
and value share one matrix while training, as do gate and up; `to_checkpoint` splits them into the
tensor names that every Llama loader knows.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import text
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Shape:
    """The sizes that define one network."""

    hidden: int
    layers: int
    ffn: int
    head_size: int = 16
    vocabulary: int = len(text.VOCABULARY)
    context: int = 768
    rope_theta: float = 10000.0
    epsilon: float = 1e-5

    @property
    def heads(self) -> int:
        return self.hidden // self.head_size

    @property
    def parameters(self) -> int:
        """Matrix weights outside the embeddings, the usual measure of size."""
        return self.layers * (4 * self.hidden**2 + 3 * self.hidden * self.ffn)


SHAPES = {
    "abacus-55k": Shape(hidden=48, layers=2, ffn=128),
    "abacus-150k": Shape(hidden=64, layers=3, ffn=176),
    "abacus-440k": Shape(hidden=96, layers=4, ffn=256),
}


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Layer(nn.Module):
    """One transformer layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.attention_norm = nn.RMSNorm(shape.hidden, shape.epsilon)
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden, bias=False)
        self.out = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.ffn_norm = nn.RMSNorm(shape.hidden, shape.epsilon)
        self.gate_up = nn.Linear(shape.hidden, 2 * shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, wanted: Tensor | None) -> Tensor:
        """Apply the layer; with `wanted`, go on with those positions only (flattened)."""
        batch, length, hidden = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, length, 3, self.shape.heads, -1)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        mixed = F.scaled_dot_product_attention(
            _rotate(query, cos, sin), _rotate(key, cos, sin), value, is_causal=True
        )
        mixed = mixed.transpose(1, 2).reshape(batch, length, hidden)
        if wanted is not None:
            x, mixed = x[wanted], mixed[wanted]
        x = x + self.out(mixed)
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Network(nn.Module):
    """The whole model: token numbers in, logits out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden, shape.epsilon)
        self.head = nn.Linear(shape.hidden, shape.vocabulary, bias=False)
        half = shape.head_size // 2
        frequencies = shape.rope_theta ** (-torch.arange(half) / half)
        angles = torch.arange(shape.context)[:, None] * frequencies[None, :]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                nn.init.normal_(weight, std=self._spread(name, weight))

    def _spread(self, name: str, weight: Tensor) -> float:
        """Initial standard deviation; what adds to the residual stream starts smaller."""
        if name.startswith(("embedding", "head")):
            return 0.02
        adds = name.endswith(("out.weight", "down.weight"))
        return weight.shape[1] ** -0.5 / ((2 * self.shape.layers) ** 0.5 if adds else 1.0)

    def forward(self, tokens: Tensor, wanted: Tensor) -> Tensor:
        """Logits at the positions where the mask `wanted` is true, flattened."""
        x = self.embedding(tokens)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for index, layer in enumerate(self.layers):
            last = index == len(self.layers) - 1
            x = layer(x, cos, sin, wanted if last else None)
        return self.head(self.norm(x))


def to_checkpoint(network: Network) -> dict[str, Tensor]:
    """The weights in half precision under Hugging Face's names."""
    named: dict[str, Tensor] = {
        "model.embed_tokens.weight": network.embedding.weight,
        "model.norm.weight": network.norm.weight,
        "lm_head.weight": network.head.weight,
    }
    for index, layer in enumerate(network.layers):
        prefix = f"model.layers.{index}."
        for name, part in zip("qkv", layer.qkv.weight.chunk(3), strict=True):
            named[f"{prefix}self_attn.{name}_proj.weight"] = part
        for name, part in zip(("gate", "up"), layer.gate_up.weight.chunk(2), strict=True):
            named[f"{prefix}mlp.{name}_proj.weight"] = part
        named[f"{prefix}self_attn.o_proj.weight"] = layer.out.weight
        named[f"{prefix}mlp.down_proj.weight"] = layer.down.weight
        named[f"{prefix}input_layernorm.weight"] = layer.attention_norm.weight
        named[f"{prefix}post_attention_layernorm.weight"] = layer.ffn_norm.weight
    return {name: tensor.detach().half().cpu().contiguous() for name, tensor in named.items()}


def save(network: Network, folder: Path) -> None:
    """Write the three files of a checkpoint: configuration, weights, tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = network.shape
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.head_size,
        "max_position_embeddings": shape.context,
        "rope_theta": shape.rope_theta,
        "rms_norm_eps": shape.epsilon,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "vocab_size": shape.vocabulary,
        "pad_token_id": text.PAD,
        "bos_token_id": None,
        "eos_token_id": text.NEWLINE,
        "torch_dtype": "float16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "tokenizer.json").write_text(json.dumps(text.tokenizer(), indent=1) + "\n")
    partial = folder / "model.safetensors.partial"
    save_file(to_checkpoint(network), partial, metadata={"format": "pt"})
    partial.replace(folder / "model.safetensors")
