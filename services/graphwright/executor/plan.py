"""Merging the graphs of a batch: nodes with equal signatures become one call.

Two candidates that share a sub-graph then share its calls on every question, so they are compared
on common random numbers and the shared part is paid for once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphwright.graphs.graph import Role
from graphwright.graphs.signature import signatures
from graphwright.search.messages import BatchGraph


@dataclass(frozen=True)
class PlannedCall:
    """One distinct node; `predecessors` are signatures in prompt order (ascending)."""

    signature: str
    role: Role
    model: str
    predecessors: tuple[str, ...]


@dataclass(frozen=True)
class PlannedGraph:
    """A graph of the batch as signatures in topological order; the last one is the sink."""

    trial_id: str
    signatures: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The distinct calls of a batch in an order where predecessors come first."""

    calls: Mapping[str, PlannedCall]
    graphs: tuple[PlannedGraph, ...]


def merge(
    graphs: Sequence[BatchGraph], templates: Mapping[Role, str], *, share_draws: bool
) -> Plan:
    """Plan a batch; `templates` fingerprints each role's prompts.

    Without `share_draws` the trial id salts every signature, so that no two trials share a draw.
    """
    calls: dict[str, PlannedCall] = {}
    planned = []
    for entry in graphs:
        salt = "" if share_draws else f"/{entry.trial_id}"
        names = [name + salt for name in signatures(entry.graph, templates)]
        for index, node in enumerate(entry.graph.nodes):
            sources = sorted(names[source] for source in entry.graph.predecessors(index))
            calls.setdefault(
                names[index], PlannedCall(names[index], node.role, node.model, tuple(sources))
            )
        planned.append(PlannedGraph(entry.trial_id, tuple(names)))
    return Plan(calls, tuple(planned))
