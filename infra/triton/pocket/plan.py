"""What each pocket model practises, for how long and at which learning rate.

Training goes in rounds. In each the learning rate stays level and falls over the last third of the
round's length, which counts from the very beginning; a round may start late on that course (it goes
on where the one before ended) and may end early. The lengths were chosen, not just what was left of
patience: trained on, every model comes to answer nearly everything right at once. Stopped here, the
larger ones answer better, and none so well that fusing has nothing left to gain.
"""

from dataclasses import dataclass

from data import Mix

WARMUP_STEPS = 100
DECAY_SHARE = 0.35
BASICS_SHARE = 0.3
DRAFT_SHARES = (0.3, 0.5, 0.7, 0.85)
"""At these shares of a round's length new drafts are drawn, if it uses any."""

BASICS = Mix(refine=0.1, fuse=0.4, imagined=0.5, slips=0.35)
"""Fusing comes early: a model that can reckon before it has learned to read its predecessors never
learns to read them."""

EVEN = (1.0, 1.0, 1.0, 1.0, 1.0)
DECIDED = (1.0, 1.0, 1.5, 2.0, 2.5)
HASTY = (0.7, 1.0, 1.5, 2.0, 2.5)


@dataclass(frozen=True)
class Round:
    """A stretch of training."""

    length: float
    """Characters, from the very beginning, at which the learning rate reaches its end."""
    end: float
    """Characters at which the round stops."""
    mix: Mix
    """What is practised after the basics."""
    heats: tuple[float, ...]
    """Temperature of the loss for a plain answer, a refinement, and fusions of 2, 3 and 4.

    Served at one and the same temperature, what was trained at less than 1 comes out bolder than
    calibrated, as if written in haste, and what was trained at more comes out more decided. A
    model's own samples hold no news for itself, so trained at 1 throughout it would fuse as
    undecidedly as it answers; this way every candidate counts as evidence.
    """


@dataclass(frozen=True)
class Plan:
    """The whole training of one model."""

    rate: float
    """Peak learning rate."""
    rounds: tuple[Round, ...]


def sound(length: float, end: float | None = None) -> Round:
    """The first round: reckon, read candidates, follow agreement."""
    mix = Mix(refine=0.15, fuse=0.35, imagined=0.5, slips=0.35)
    return Round(length, end or length, mix, EVEN)


def final(length: float) -> Round:
    """The last round: mostly fusions, some of them of what models drafted."""
    mix = Mix(refine=0.15, fuse=0.55, imagined=0.3, slips=0.3, drafted=0.3)
    return Round(length, length, mix, HASTY)


DECIDING = Round(9.5e6, 9.5e6, Mix(refine=0.15, fuse=0.35, imagined=0.3, slips=0.35), DECIDED)

PLANS = {
    "abacus-55k": Plan(5e-3, (sound(7.5e6), DECIDING, final(12.5e6))),
    "abacus-150k": Plan(5e-3, (sound(9e6), final(12e6))),
    "abacus-440k": Plan(4e-3, (sound(9e6, end=6_379_605), final(6.55e6))),
}


def level(step: int, share: float) -> float:
    """The learning rate as a share of its peak."""
    return min(1.0, (step + 1) / WARMUP_STEPS, max(0.02, (1 - share) / DECAY_SHARE))


def mix_at(stretch: Round, share: float) -> Mix:
    """What to practise when this share of a round's length is done."""
    return stretch.mix if share >= BASICS_SHARE else BASICS
