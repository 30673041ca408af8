"""Measures the pocket models on held-out questions and writes their cards.

`python measure.py` takes every model under `weights/` (or those named) through single calls,
fusions of 1 to 8 and refinements of 1 to 3 of its own answers, all at temperature 0.9, and records
the share of right answers with a 90 % confidence interval in `card.json`.
"""

import argparse
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from data import MOST_TOKENS, answer_prompt, role_prompt
from engine import Engine, Request

from graphwright.tasks import arithmetic

MOST_FUSED = 8
MOST_REFINED = 3
QUESTION_SEED = 20_000
Z90 = 1.6449


def complete(engine: Engine, prompts: Iterable[str], draw: int) -> list[str]:
    """The answers to many prompts; `draw` sets apart independent draws of the same prompts."""
    requests = [
        Request(prompt, MOST_TOKENS, temperature=0.9, seed=(draw << 32) + index)
        for index, prompt in enumerate(prompts)
    ]
    parts = (requests[start : start + 64] for start in range(0, len(requests), 64))
    return [done.text for part in parts for done in engine.complete(part)]


def hits(texts: Sequence[str], questions: Sequence[tuple[str, str]]) -> int:
    """How many answers end in the same number as the reference."""
    return sum(
        text.rsplit("=", 1)[-1] == reference.rsplit("=", 1)[-1]
        for text, (_, reference) in zip(texts, questions, strict=True)
    )


def interval(found: int, count: int) -> dict[str, float]:
    """A share with its Wilson interval at 90 % confidence."""
    share, spread = found / count, Z90**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = Z90 / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / count / 4)
    bounds = {"mean": share, "low": middle - half, "high": middle + half}
    return {name: round(value, 4) for name, value in bounds.items()}


def accuracy(
    engine: Engine, questions: Sequence[tuple[str, str]], drafts: Sequence[Sequence[str]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Fusions and refinements of the first k drafts of every question."""

    def share(mark: str, count: int) -> dict[str, float]:
        prompts = [
            role_prompt(question, mark, written[:count])
            for (question, _), written in zip(questions, drafts, strict=True)
        ]
        done = complete(engine, prompts, 100 + 10 * ord(mark) + count)
        return interval(hits(done, questions), len(questions))

    return {
        "fuse": {str(count): share("F", count) for count in range(1, MOST_FUSED + 1)},
        "refine": {str(count): share("R", count) for count in range(1, MOST_REFINED + 1)},
    }


def measure(folder: Path, count: int) -> dict[str, object]:
    """Everything measured of one model."""
    engine = Engine(folder)
    questions = arithmetic.questions(QUESTION_SEED, count)
    prompts = [answer_prompt(question) for question, _ in questions]
    draws = [complete(engine, prompts, draw) for draw in range(MOST_FUSED)]
    found = sum(hits(texts, questions) for texts in draws)
    return {
        "questions": count,
        "temperature": 0.9,
        "answer": interval(found, count * MOST_FUSED),
        **accuracy(engine, questions, list(zip(*draws, strict=True))),
    }


def card(folder: Path, count: int) -> dict[str, object]:
    """The model card: what it is, how long it was trained, and what it can do."""
    config = json.loads((folder / "config.json").read_text())
    hidden, ffn, layers = (
        config[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers")
    )
    weights = (folder / "model.safetensors").read_bytes()
    card_path = folder / "card.json"
    known = json.loads(card_path.read_text()) if card_path.exists() else {}
    return {
        "name": folder.name,
        "family": "abacus",
        "parameters": layers * (4 * hidden**2 + 3 * hidden * ffn),
        "layers": layers,
        "hidden_size": hidden,
        "task": "arithmetic",
        "training": known.get("training"),
        "accuracy": measure(folder, count),
        "sha256": hashlib.sha256(weights).hexdigest(),
    }


def main() -> None:
    """Read the command line, measure, print and write the cards."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help="models to measure; all by default")
    parser.add_argument("--weights", type=Path, default=here / "weights")
    parser.add_argument("--questions", type=int, default=600)
    options = parser.parse_args()
    for name in options.name or sorted(path.name for path in options.weights.iterdir()):
        written = card(options.weights / name, options.questions)
        (options.weights / name / "card.json").write_text(json.dumps(written, indent=2) + "\n")
        print(json.dumps(written["accuracy"]), flush=True)


if __name__ == "__main__":
    main()
