"""Node signatures: what a node is, whatever number it was given.

A signature hashes role, model, prompt template, the sorted signatures of the predecessors, and an
ordinal that keeps equal siblings apart. Equal signatures mean equal calls, so nodes of different
candidates can be executed once, and predecessor outputs enter a prompt in signature order.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b

from graphwright.graphs.canonical import canonical_ranks
from graphwright.graphs.graph import Graph, Role

DIGEST_BYTES = 16


def signatures(graph: Graph, templates: Mapping[Role, str]) -> tuple[str, ...]:
    """Hex digest per node; `templates` holds the fingerprint of each role's prompt template.

    Invariant under every renumbering that keeps a topological order, up to a symmetry of the
    graph. A role without a fingerprint counts as having the empty one.
    """
    ordinals = _ordinals(graph)
    digests: list[str] = []
    for index, node in enumerate(graph.nodes):
        sources = sorted(digests[source] for source in graph.predecessors(index))
        template = templates.get(node.role, "")
        digests.append(_digest([node.role, node.model, template, sources, ordinals[index]]))
    return tuple(digests)


def graph_hash(graph: Graph, templates: Mapping[Role, str] | None = None) -> str:
    """Signature of the sink: equal exactly for graphs that differ by numbering alone.

    Everything reaches the sink, so its signature covers the whole graph. Without templates it
    identifies the structure with its roles and models.
    """
    return signatures(graph, templates or {})[graph.sink]


def _ordinals(graph: Graph) -> list[int]:
    """Place of each node among its equal siblings, in canonical order.

    Equal siblings share role, model and predecessors: as signatures are distinct, equal
    predecessor signatures mean the same predecessors.
    """
    kinds = [(node.role, node.model) for node in graph.nodes]
    number = {kind: position for position, kind in enumerate(sorted(set(kinds)))}
    ranks = canonical_ranks([number[kind] for kind in kinds], graph.edges)
    met: defaultdict[tuple[Role, str, tuple[int, ...]], int] = defaultdict(int)
    ordinals = [0] * len(kinds)
    for index in sorted(range(len(kinds)), key=ranks.__getitem__):
        siblings = (*kinds[index], graph.predecessors(index))
        ordinals[index] = met[siblings]
        met[siblings] += 1
    return ordinals


def _digest(content: list[object]) -> str:
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()
