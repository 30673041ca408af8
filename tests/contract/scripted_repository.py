"""A model repository with variants of the scripted model, each with tensors of its own."""

import shutil
from pathlib import Path

TYPES = {
    "text_input": "TYPE_STRING",
    "max_tokens": "TYPE_INT32",
    "temperature": "TYPE_FP32",
    "top_p": "TYPE_FP32",
    "top_k": "TYPE_INT32",
    "seed": "TYPE_UINT64",
    "random_seed": "TYPE_UINT64",
    "stop_words": "TYPE_STRING",
    "exclude_input_in_output": "TYPE_BOOL",
    "return_num_input_tokens": "TYPE_BOOL",
    "return_num_output_tokens": "TYPE_BOOL",
    "text_output": "TYPE_STRING",
    "num_input_tokens": "TYPE_INT32",
    "num_output_tokens": "TYPE_INT32",
}
LISTS = {"stop_words", "text_output"}

SAMPLING = ["text_input", "max_tokens", "temperature", "top_p", "top_k", "stop_words"]
FLAGS = ["exclude_input_in_output", "return_num_input_tokens", "return_num_output_tokens"]
OUTPUTS = ["text_output", "num_input_tokens", "num_output_tokens"]

VARIANTS: dict[str, tuple[list[str], list[str], int]] = {
    "current": ([*SAMPLING, "seed", *FLAGS], OUTPUTS, 8),
    "older": ([*SAMPLING, "random_seed"], OUTPUTS, 8),
    "lacking": (SAMPLING[:-1], OUTPUTS[:-1], 8),
    "narrow": ([*SAMPLING, "seed", *FLAGS], OUTPUTS, 2),
    "unbatched": ([*SAMPLING, "seed", *FLAGS], OUTPUTS, 0),
}


def write_repository(folder: Path) -> Path:
    """Write every variant; the largest batch of `narrow` is 2, `unbatched` has none."""
    source = Path(__file__).with_name("scripted_backend.py")
    for name, (inputs, outputs, rows) in VARIANTS.items():
        version = folder / name / "1"
        version.mkdir(parents=True)
        shutil.copy(source, version / "model.py")
        (folder / name / "config.pbtxt").write_text(_config(inputs, outputs, rows))
    return folder


def _config(inputs: list[str], outputs: list[str], rows: int) -> str:
    return "\n".join(
        [
            'backend: "python"',
            f"max_batch_size: {rows}",
            *(_tensor("input", name) for name in inputs),
            *(_tensor("output", name) for name in outputs),
            "instance_group [ { count: 1 kind: KIND_CPU } ]",
        ]
    )


def _tensor(side: str, name: str) -> str:
    size = -1 if name in LISTS else 1
    optional = side == "input" and name not in {"text_input", "max_tokens"}
    return (
        f'{side} [ {{ name: "{name}" data_type: {TYPES[name]} dims: [ {size} ]'
        f"{' optional: true' if optional else ''} }} ]"
    )
