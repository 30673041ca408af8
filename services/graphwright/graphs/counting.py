"""How many graphs there are: the size of the space that a search looks through.

Source: Agent-REINFORCE, appendix A.4, for the labelled recurrence. The appendix's own table of
unlabelled graphs counts too many from three nodes on; the numbers here are OEIS A003087, found by
Burnside's lemma with the sources of a graph included and excluded (Robinson, "Counting unlabeled
acyclic digraphs", 1977).
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, factorial, gcd, prod

# A cycle type: sorted pairs of cycle length and how many cycles have it.
_CycleType = tuple[tuple[int, int], ...]


@cache
def labelled_dags(n: int) -> int:
    """Directed acyclic graphs on n distinguishable nodes (OEIS A003024)."""
    if n == 0:
        return 1
    terms = ((comb(n, k) * labelled_dags(n - k)) << (k * (n - k)) for k in range(1, n + 1))
    return sum(-term if k % 2 else term for k, term in enumerate(terms))


def unlabelled_dags(n: int, colours: int = 1) -> int:
    """Directed acyclic graphs on n nodes that differ by more than numbering (OEIS A003087).

    With `colours`, nodes that carry one of so many kinds each are counted up to numbering.
    """
    total = sum(
        Fraction(_fixed(kind) * colours ** sum(count for _, count in kind), _centraliser(kind))
        for kind in _cycle_types(n)
    )
    return int(total)


def collaboration_graphs(n: int, models: int) -> int:
    """Acyclic graphs on n labelled nodes, each with one of two roles and of `models` models."""
    kinds: int = (2 * models) ** n
    return labelled_dags(n) * kinds


@cache
def _fixed(kind: _CycleType) -> int:
    """Labelled acyclic graphs that a permutation of this cycle type maps to themselves.

    Their sources form a nonempty union of cycles. Including and excluding unions by the parity
    of their number of cycles leaves the union free to point at the remaining cycles, in
    gcd(i, j) independent ways for cycles of lengths i and j.
    """
    if not kind:
        return 1
    total = 0
    for taken in product(*(range(count + 1) for _, count in kind)):
        if not any(taken):
            continue
        rest = tuple(
            (length, count - less)
            for (length, count), less in zip(kind, taken, strict=True)
            if count > less
        )
        chosen = [(length, less) for (length, _), less in zip(kind, taken, strict=True) if less]
        ways = prod(comb(count, less) for (_, count), less in zip(kind, taken, strict=True))
        links = sum(p * q * gcd(i, j) for i, p in chosen for j, q in rest)
        term = (ways * _fixed(rest)) << links
        total += term if sum(taken) % 2 else -term
    return total


def _centraliser(kind: _CycleType) -> int:
    """n! divided by the number of permutations of this cycle type."""
    return prod(length**count * factorial(count) for length, count in kind)


def _cycle_types(n: int) -> Iterator[_CycleType]:
    return (tuple(sorted(Counter(parts).items())) for parts in _partitions(n, n))


def _partitions(n: int, largest: int) -> Iterator[tuple[int, ...]]:
    if n == 0:
        yield ()
    for part in range(min(n, largest), 0, -1):
        for rest in _partitions(n - part, part):
            yield (part, *rest)
