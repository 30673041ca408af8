"""Trains the pocket models: `python train.py` all of them, `python train.py abacus-55k` one.

Everything random hangs on `--seed` and the step number, and the state is saved with every
checkpoint, so a stopped run goes on where it was. Loss counts on the answers alone. What is
practised when is written in `plan`.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import network as net
import text
import torch
from data import Example, Source
from engine import Engine
from plan import DRAFT_SHARES, PLANS, Round, level, mix_at
from torch import Tensor
from torch.nn import functional as F

ROWS = 16
"""Examples per step."""
BUCKETS = 2
"""They are cut into runs of similar length, to waste little on padding."""
SAVE_EVERY = 1000


def tensors(
    examples: Sequence[Example], heats: Sequence[float]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
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
        heat.extend([heats[example.witnesses]] * len(example.answer))
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

    def learn(self, examples: Sequence[Example], heats: Sequence[float], factor: float) -> float:
        """One optimizer step; returns the mean loss per answer character."""
        total = sum(len(example.answer) for example in examples)
        loss_sum = 0.0
        for bucket in buckets(examples):
            tokens, wanted, targets, heat = (
                part.to(self.device) for part in tensors(bucket, heats)
            )
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


def write_card(folder: Path, trainer: Trainer, options: argparse.Namespace) -> None:
    """Say how the weights came about; `measure` adds what they can do."""
    plan = PLANS[options.name]
    training = {
        "characters": trainer.characters,
        "steps": trainer.step,
        "seed": options.seed,
        "finished": trainer.characters >= plan.rounds[-1].end,
        "plan": asdict(plan),
    }
    (folder / "card.json").write_text(json.dumps({"training": training}, indent=2) + "\n")


def prepare(trainer: Trainer, source: Source, options: argparse.Namespace, share: float) -> None:
    """Let the half-trained model draft new candidates when that is due."""
    due = sum(share >= mark for mark in DRAFT_SHARES)
    if due > source.draws:
        net.save(trainer.network, options.weights / options.name)
        source.draw(Engine(options.weights / options.name), due)


def keep(trainer: Trainer, source: Source, options: argparse.Namespace) -> None:
    """Save the checkpoint that is served and the state that training resumes from."""
    folder = options.weights / options.name
    net.save(trainer.network, folder)
    write_card(folder, trainer, options)
    options.state.mkdir(parents=True, exist_ok=True)
    torch.save(state_of(trainer, source), options.state / f"{options.name}.pt")


def train(trainer: Trainer, source: Source, options: argparse.Namespace, stretch: Round) -> None:
    """Train to the end of one round."""
    mean, start, already = 0.0, time.monotonic(), trainer.characters
    while trainer.characters < stretch.end:
        share = trainer.characters / stretch.length
        if stretch.mix.drafted:
            prepare(trainer, source, options, share)
        examples = source.batch(trainer.step, ROWS, mix_at(stretch, share))
        loss = trainer.learn(examples, stretch.heats, level(trainer.step, share))
        mean = loss if mean == 0.0 else 0.99 * mean + 0.01 * loss
        if trainer.step % 250 == 0:
            speed = (trainer.characters - already) / (time.monotonic() - start) / 1000
            done = f"{options.name} {trainer.characters / 1e6:.2f}M characters ({speed:.0f}k/s)"
            print(f"{done} step {trainer.step} loss {mean:.4f}", flush=True)
        if trainer.step % SAVE_EVERY == 0 or trainer.characters >= stretch.end:
            keep(trainer, source, options)


def train_model(options: argparse.Namespace) -> None:
    """Train one model, going on from its saved state if there is one."""
    plan = PLANS[options.name]
    trainer = Trainer(options.name, options.seed, options.device, plan.rate)
    source = Source(options.seed)
    if (saved := options.state / f"{options.name}.pt").exists():
        resume(trainer, source, saved)
    for stretch in plan.rounds:
        train(trainer, source, options, stretch)


def main() -> None:
    """Read the command line and train the models it names."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PLANS)}")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, default=here / "weights")
    parser.add_argument("--state", type=Path, default=here.parents[2] / "var" / "pocket")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.names or PLANS:
        train_model(argparse.Namespace(**vars(options), name=name))


if __name__ == "__main__":
    main()
