"""The parameters of a graph distribution: logits for edges, roles and models of n nodes.

Source: Agent-REINFORCE, section 5.1 (theta, pi, psi) and appendix A.11 (the role scaling alpha).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from graphwright.graphs.graph import Role

Floats = npt.NDArray[np.float64]

ROLES = (Role.ASSISTANT, Role.FUSER)

# The logit of a choice that is meant to be fixed: all others together keep about 2e-9.
FIXED = 20.0
# Edge probabilities given as 0 or 1 are kept this far inside, where logits are finite.
MARGIN = 1e-6


class InvalidLogits(ValueError):
    """Parameters that do not describe a distribution."""

    def __init__(self, field: str, fault: str) -> None:
        """Remember the parameter and what is wrong with it."""
        self.field, self.fault = field, fault
        super().__init__(f"{field} {fault}")


@dataclass(frozen=True, eq=False)
class GraphDistribution:
    """Independent edges, roles given in-degrees, and models, over n nodes in topological order.

    `models` names the m choices; `edge_logits` is (n, n), of which i < j counts and the rest is
    kept at 0; `role_logits` is (n, 2) for assistant and fuser; `model_logits` is (n, m). The
    arrays are copied and read-only. Roles lean to fuser with in-degree d: the fuser logit gains
    d ln(alpha), or with `literal_roles` both logits are multiplied by alpha^d as A.11 prints it.
    Raises InvalidLogits.
    """

    models: tuple[str, ...]
    edge_logits: Floats
    role_logits: Floats
    model_logits: Floats
    alpha: float = 1.1
    literal_roles: bool = False

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        n = len(self.edge_logits)
        if not n or not self.models or len(set(self.models)) < len(self.models):
            raise InvalidLogits("models" if n else "edge_logits", "must be distinct and not empty")
        if not 0 < self.alpha < float("inf"):
            raise InvalidLogits("alpha", f"must be positive and finite, not {self.alpha}")
        shapes = {"edge_logits": (n, n), "role_logits": (n, 2), "model_logits": (n, self.m)}
        for field, shape in shapes.items():
            # Adding 0 copies, and turns -0.0 into 0.0: equal parameters have equal bytes.
            values = np.asarray(getattr(self, field), dtype=np.float64) + 0.0
            if values.shape != shape:
                raise InvalidLogits(field, f"must have shape {shape}, not {values.shape}")
            if not np.isfinite(values).all():
                raise InvalidLogits(field, "must be finite")
            values = np.triu(values, k=1) if field == "edge_logits" else values
            values.setflags(write=False)
            object.__setattr__(self, field, values)

    @property
    def n(self) -> int:
        """Number of nodes, the sink included."""
        return len(self.edge_logits)

    @property
    def m(self) -> int:
        """Number of models to choose from."""
        return len(self.models)

    @classmethod
    def uniform(cls, n: int, models: Sequence[str], edge_probability: float) -> "GraphDistribution":
        """Every edge equally likely, every role and model an even choice; raises InvalidLogits."""
        return cls(
            models=tuple(models),
            edge_logits=np.full((n, n), _logit(edge_probability)),
            role_logits=np.zeros((n, 2)),
            model_logits=np.zeros((n, len(models))),
        )

    @classmethod
    def with_nodes(
        cls,
        models_per_node: Sequence[str],
        edge_probability: float,
        sink_role: Role | None = Role.FUSER,
    ) -> "GraphDistribution":
        """Models fixed node by node, the sink's role too unless None, edges equally likely.

        `models` lists the distinct names in order of first appearance. Raises InvalidLogits.
        """
        models = tuple(dict.fromkeys(models_per_node))
        free = cls.uniform(len(models_per_node), models, edge_probability)
        chosen = [models.index(model) for model in models_per_node]
        roles = np.zeros((free.n, 2))
        if sink_role is not None:
            roles[-1, ROLES.index(sink_role)] = FIXED
        return replace(free, role_logits=roles, model_logits=FIXED * np.eye(free.m)[chosen])

    def edge_probabilities(self) -> Floats:
        """(n, n) probability of each edge i -> j, 0 where i >= j; read-only."""
        return self._edge_probabilities

    def without(self, nodes: Iterable[int]) -> "GraphDistribution":
        """The distribution of the other nodes: the same rows and columns leave every table.

        Raises InvalidLogits for a node that does not exist, and for the sink, which must stay.
        """
        gone = sorted(set(nodes))
        if gone and not 0 <= gone[0] <= gone[-1] < self.n - 1:
            raise InvalidLogits("nodes", f"to leave out must be within 0..{self.n - 2}: {gone}")
        return replace(
            self,
            edge_logits=np.delete(np.delete(self.edge_logits, gone, axis=0), gone, axis=1),
            role_logits=np.delete(self.role_logits, gone, axis=0),
            model_logits=np.delete(self.model_logits, gone, axis=0),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain lists and numbers, for checkpoints; `from_json` is the exact inverse."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in (values | {"models": list(self.models)}).items()
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "GraphDistribution":
        """Inverse of `to_json`; raises InvalidLogits, and TypeError for other keys."""
        return cls(**{**document, "models": tuple(document["models"])})

    def __eq__(self, other: object) -> bool:
        """Whether every parameter is equal."""
        if not isinstance(other, GraphDistribution):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        tables = (self.edge_logits, self.role_logits, self.model_logits)
        return self.models, self.alpha, self.literal_roles, *(t.tobytes() for t in tables)

    def fuser_logits(self, in_degrees: npt.NDArray[np.intp]) -> Floats:
        """(n,) log-odds of fuser against assistant for nodes of these in-degrees."""
        lead: Floats = self.role_logits[:, 1] - self.role_logits[:, 0]
        if self.literal_roles:
            return lead * self.alpha**in_degrees
        return lead + in_degrees * float(np.log(self.alpha))

    @cached_property
    def model_log_probabilities(self) -> Floats:
        """(n, m) logarithms of the softmax of the model logits."""
        shifted = self.model_logits - self.model_logits.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))

    @cached_property
    def no_edge_log_probability(self) -> float:
        """Log-probability of drawing no edge at all: what each drawn edge then adds to."""
        return -float(np.triu(np.logaddexp(0.0, self.edge_logits), k=1).sum())

    @cached_property
    def _edge_probabilities(self) -> Floats:
        probabilities: Floats = np.triu(sigmoid(self.edge_logits), k=1)
        probabilities.setflags(write=False)
        return probabilities


def sigmoid(logits: Floats) -> Floats:
    """The logistic function, without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))


def _logit(probability: float) -> float:
    if not 0 <= probability <= 1:
        raise InvalidLogits("edge_probability", f"must be within 0..1, not {probability}")
    inside = min(max(probability, MARGIN), 1 - MARGIN)
    return float(np.log(inside) - np.log1p(-inside))
