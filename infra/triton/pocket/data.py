"""Training examples: plain answers, refinements and fusions, drawn deterministically from a seed.

The candidates in front of a refinement or a fusion are partly corrupted by rule and partly what
the half-trained model itself answered when it was sampled (the drafts). A model's own samples tell
it nothing that it does not already believe, so training on all of them would teach it to ignore its
predecessors; kept are the sets in which at least half are right, which teach it to trust agreement.
Held-out questions never appear.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine import Engine, Request

from graphwright.tasks import arithmetic

MOST_FUSED = 4
MOST_REFINED = 2
DRAFTED_QUESTIONS = 4_000
MOST_TOKENS = 80
Drafts = dict[str, list[str]]


@dataclass(frozen=True)
class Example:
    """A prompt and the text that should follow it."""

    prompt: str
    answer: str
    witnesses: int = 0
    """How many candidates a fusion saw; 1 for a refinement, 0 for a plain answer."""

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True)
class Mix:
    """How often each kind of prompt is drawn; what is left over is the plain answer."""

    refine: float
    fuse: float
    imagined: float
    """Share of the fusions whose totals follow no arithmetic, so that only agreement tells."""
    slips: float
    """A candidate made up by rule has each total wrong with a probability of up to this."""
    drafted: float = 0.0
    """Share of the refine and fuse prompts whose candidates are drafts."""


@dataclass
class Source:
    """Draws examples; the same seed and step give the same examples."""

    seed: int
    drafts: Drafts = field(default_factory=dict)
    draws: int = 0
    """How often the drafts have been renewed."""

    def draw(self, writer: Engine, number: int) -> None:
        """Renew the drafts: what the writer answers to some thousand questions."""
        rng = random.Random(f"{self.seed}/drafts/{number}")
        drafts: Drafts = {trainable(rng): [] for _ in range(DRAFTED_QUESTIONS)}
        requests = [
            Request(answer_prompt(question), MOST_TOKENS, temperature=0.9, seed=rng.getrandbits(64))
            for question in drafts
            for _ in range(MOST_FUSED)
        ]
        for start in range(0, len(requests), 64):
            part = requests[start : start + 64]
            for request, done in zip(part, writer.complete(part), strict=True):
                question = request.prompt.removeprefix("Q ").removesuffix("\nA ")
                drafts[question].append(done.text)
        for question, texts in list(drafts.items()):
            if sum(is_right(question, text) for text in texts) < MOST_FUSED // 2:
                del drafts[question]
        self.drafts, self.draws = drafts, number

    def batch(self, step: int, count: int, mix: Mix) -> list[Example]:
        """The examples of one training step."""
        rng = random.Random(f"{self.seed}/{step}")
        pool = list(self.drafts)
        return [self._example(rng, mix, pool) for _ in range(count)]

    def _example(self, rng: random.Random, mix: Mix, pool: Sequence[str]) -> Example:
        roll = rng.random()
        if roll >= mix.refine + mix.fuse:
            question = trainable(rng)
            return Example(answer_prompt(question), arithmetic.solve(question) + "\n")
        fuse = roll < mix.fuse
        count = rng.randint(2, MOST_FUSED) if fuse else rng.randint(1, MOST_REFINED)
        question = trainable(rng)
        witnesses = count if fuse else 1
        if pool and rng.random() < mix.drafted:
            question = rng.choice(pool)
            candidates = self._agreeing(rng, question, count)
            prompt = role_prompt(question, "F" if fuse else "R", candidates)
            return Example(prompt, arithmetic.solve(question) + "\n", witnesses)
        imagined = fuse and rng.random() < mix.imagined
        drift = [rng.randint(-40, 40) if imagined else 0 for _ in arithmetic.terms(question)]
        rate = rng.uniform(0.0, mix.slips)
        candidates = [work(question, drift, rate, rng) for _ in range(count)]
        return Example(
            role_prompt(question, "F" if fuse else "R", candidates),
            work(question, drift, 0.0, rng) + "\n",
            witnesses,
        )

    def _agreeing(self, rng: random.Random, question: str, count: int) -> list[str]:
        """Drafts of a question of which, where there are several, at least half are right."""
        needed = (count + 1) // 2 if count > 1 else 0
        while True:
            candidates = rng.sample(self.drafts[question], count)
            if sum(is_right(question, text) for text in candidates) >= needed:
                return candidates


def is_right(question: str, text: str) -> bool:
    """Whether a worked answer ends in the right number."""
    return text.rsplit("=", 1)[-1] == str(arithmetic.answer(question))


def trainable(rng: random.Random) -> str:
    """A question that training may see."""
    while arithmetic.is_held_out(question := arithmetic.generate(rng)):
        pass
    return question


def answer_prompt(question: str) -> str:
    """The prompt of a node without predecessors."""
    return f"Q {question}\nA "


def role_prompt(question: str, mark: str, candidates: Sequence[str]) -> str:
    """The prompt of a refining (mark `R`) or fusing (mark `F`) node."""
    return f"Q {question}\n" + "".join(f"{mark} {text}\n" for text in candidates) + "A "


def work(question: str, drift: Sequence[int], rate: float, rng: random.Random) -> str:
    """A worked answer whose totals drift, each also wrong with probability `rate`.

    Without drift and at rate 0 it is the right answer; later steps follow on from wrong totals.
    """
    first, *rest = arithmetic.terms(question)
    total, parts = first, [str(first)]
    for term, extra in zip(rest, drift, strict=False):
        total = max(0, total + term + extra)
        if rng.random() < rate:
            total = _wrong(total, rng)
        parts.append(f"{term:+d}={total}")
    return "".join(parts)


def _wrong(total: int, rng: random.Random) -> int:
    """A total as a careless reckoner gets it: a slipped carry, a unit off, two digits swapped."""
    kind = rng.random()
    if kind < 0.1:
        return max(0, total + rng.choice((-100, 100)))
    if kind < 0.45:
        return max(0, total + rng.choice((-10, 10)))
    if kind < 0.8:
        return max(0, total + rng.choice((-2, -1, 1, 2)))
    digits = list(str(total))
    if kind < 0.9:
        digits.reverse()
    else:
        digits[rng.randrange(len(digits))] = str(rng.randrange(10))
    return int("".join(digits))
