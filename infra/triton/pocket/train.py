"""Trains one pocket model: `python train.py abacus-55k`.

Everything random hangs on `--seed` and the step number, and the state is saved with every
checkpoint, so a stopped run goes on where it was. Loss counts on the answers alone. The learning
rate rises briefly, stays level and falls over the last third. After the basics most prompts are
refinements and fusions, whose candidates the half-trained model itself and any finished sister
(`--sister`) drafted.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import network as net
import text
import torch
from data import Example, Mix, Source
from engine import Engine
from torch import Tensor
from torch.nn import functional as F

WARMUP_STEPS = 100
DECAY_SHARE = 0.35
BUCKETS = 2
"""A step's examples are cut into runs of similar length, to waste little on padding."""
STAGES = (
    (0.0, Mix(refine=0.1, fuse=0.4, imagined=0.5)),
    (0.3, Mix(refine=0.15, fuse=0.35, imagined=0.5)),
    (0.6, Mix(refine=0.15, fuse=0.55, imagined=0.3, drafted=0.3)),
)
"""What is practised from which share of the training on. Fusing comes early: a model that can
reckon before it has learned to read its predecessors never learns to read them."""
DRAFT_SHARES = (0.6, 0.75, 0.9)
"""At these shares of the training new drafts are drawn."""
HEAT = {0: 0.7, 1: 1.0, 2: 1.5, 3: 2.0, 4: 2.5}
"""Temperature of the loss by number of candidates fused. Samples of a model hold no news for the
model itself, so at 1 it would learn to answer as undecidedly as before. Served at a temperature
below that of training, a fuser is as decided as if every candidate were evidence of its own."""
SAVE_EVERY = 1000
PLANS = {"abacus-55k": (12e6, 5e-3), "abacus-150k": (10e6, 5e-3), "abacus-440k": (5e6, 4e-3)}
"""Characters read and peak learning rate."""


def tensors(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs, the mask of positions that predict an answer character, those characters and heat."""
    width = max(map(len, examples)) - 1
    tokens = torch.full((len(examples), width), text.PAD)
    wanted = torch.zeros((len(examples), width), dtype=torch.bool)
    targets: list[int] = []
    heat: list[float] = []
    for row, example in enumerate(examples):
        encoded = text.encode(example.prompt + example.answer)
        tokens[row, : len(encoded) - 1] = torch.tensor(encoded[:-1])
        wanted[row, len(example.prompt) - 1 : len(encoded) - 1] = True
        targets.extend(encoded[len(example.prompt) :])
        heat.extend([HEAT[example.witnesses]] * len(example.answer))
    return tokens, wanted, torch.tensor(targets), torch.tensor(heat)


def buckets(examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
    """The examples in runs of similar length, each run of about as many characters."""
    ordered = sorted(examples, key=len)
    share = sum(map(len, ordered)) / BUCKETS
    start, size = 0, 0
    for index, example in enumerate(ordered):
        size += len(example)
        if size >= share or index == len(ordered) - 1:
            yield ordered[start : index + 1]
            start, size = index + 1, 0


class Trainer:
    """A network, its optimizers and how far they have come."""

    def __init__(self, name: str, seed: int, device: str, rate: float) -> None:
        torch.manual_seed(seed)
        self.device = device
        self.network = net.Network(net.SHAPES[name]).to(device)
        inner = [p for p in self.network.layers.parameters() if p.ndim == 2]
        known = set(map(id, inner))
        outer = [p for p in self.network.parameters() if id(p) not in known]
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(inner, lr=rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(outer, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
        ]
        self.rate = rate
        self.step = 0
        self.characters = 0

    def learn(self, examples: Sequence[Example], factor: float) -> float:
        """One optimizer step; returns the mean loss per answer character."""
        total = sum(len(example.answer) for example in examples)
        loss_sum = 0.0
        for bucket in buckets(examples):
            tokens, wanted, targets, heat = (part.to(self.device) for part in tensors(bucket))
            logits = self.network(tokens, wanted) / heat[:, None]
            loss = F.cross_entropy(logits, targets, reduction="sum") / total
            loss.backward()
            loss_sum += loss.item()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.characters += sum(map(len, examples))
        return loss_sum


def level(step: int, share: float) -> float:
    """The learning rate as a share of its peak."""
    return min(1.0, (step + 1) / WARMUP_STEPS, max(0.02, (1 - share) / DECAY_SHARE))


def mix_at(share: float) -> Mix:
    """What to practise when this share of the training is done."""
    return [mix for start, mix in STAGES if share >= start][-1]


def state_of(trainer: Trainer, source: Source) -> dict[str, object]:
    """All that a stopped run needs to go on."""
    return {
        "network": trainer.network.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in trainer.optimizers],
        "step": trainer.step,
        "characters": trainer.characters,
        "drafts": source.drafts,
        "draws": source.draws,
    }


def resume(trainer: Trainer, source: Source, path: Path) -> None:
    """Go on from the state in `path`."""
    state = torch.load(path, map_location=trainer.device, weights_only=True)
    trainer.network.load_state_dict(state["network"])
    for optimizer, saved in zip(trainer.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    trainer.step, trainer.characters = state["step"], state["characters"]
    source.drafts, source.draws = state["drafts"], state["draws"]


def write_card(folder: Path, trainer: Trainer, options: argparse.Namespace, finished: bool) -> None:
    """Say how the weights came about; `measure` adds what they can do."""
    training = {
        "characters": trainer.characters,
        "steps": trainer.step,
        "seed": options.seed,
        "rate": trainer.rate,
        "rows": options.rows,
        "sisters": options.sister,
        "finished": finished,
    }
    (folder / "card.json").write_text(json.dumps({"training": training}, indent=2) + "\n")


def run(options: argparse.Namespace) -> None:
    """Train until the planned number of characters has been read."""
    folder, state_path = options.weights / options.name, options.state / f"{options.name}.pt"
    characters, rate = PLANS[options.name]
    total = options.characters or characters
    trainer = Trainer(options.name, options.seed, options.device, options.rate or rate)
    source = Source(options.seed)
    if state_path.exists():
        resume(trainer, source, state_path)
    mean, start, already = 0.0, time.monotonic(), trainer.characters
    while trainer.characters < total:
        share = trainer.characters / total
        drawn = sum(share >= mark for mark in DRAFT_SHARES)
        if drawn > source.draws:
            net.save(trainer.network, folder)
            writers = [Engine(options.weights / name) for name in (options.name, *options.sister)]
            source.draw(writers, drawn)
        examples = source.batch(trainer.step, options.rows, mix_at(share))
        loss = trainer.learn(examples, level(trainer.step, share))
        mean = loss if mean == 0.0 else 0.99 * mean + 0.01 * loss
        if trainer.step % 250 == 0:
            speed = (trainer.characters - already) / (time.monotonic() - start)
            print(
                f"{options.name} {100 * share:5.1f}% step {trainer.step} loss {mean:.4f} "
                f"{speed / 1000:.0f}k characters/s",
                flush=True,
            )
        if trainer.step % SAVE_EVERY == 0 or trainer.characters >= total:
            net.save(trainer.network, folder)
            write_card(folder, trainer, options, finished=trainer.characters >= total)
            state_path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(state_of(trainer, source), state_path)


def main() -> None:
    """Read the command line and train."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=net.SHAPES)
    parser.add_argument("--sister", action="append", default=[], choices=net.SHAPES)
    parser.add_argument("--characters", type=float, help="training length")
    parser.add_argument("--rows", type=int, default=16, help="examples per step")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rate", type=float, help="peak learning rate")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, default=here / "weights")
    parser.add_argument("--state", type=Path, default=here.parents[2] / "var" / "pocket")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run(options)


if __name__ == "__main__":
    main()
