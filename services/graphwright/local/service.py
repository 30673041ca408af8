"""A Graphwright service as a process of its own."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from graphwright.local.ports import LOOPBACK
from graphwright.local.processes import Launch
from graphwright.local.server import Server
from graphwright.local.settings import inherited


class Service(Server):
    """`python -m graphwright.<kind>` with its HTTP endpoint for health and metrics."""

    name: ClassVar[str] = "service"
    grace_seconds: ClassVar[float] = 30.0  # an executor finishes the batches in hand

    def __init__(
        self, kind: str, port: int, environment: Mapping[str, str], *, log: Path, label: str = ""
    ) -> None:
        """`kind` is planner, executor or evaluator; `port` that of its HTTP endpoint."""
        super().__init__(log)
        self.kind = kind
        self.port = port
        self._environment = environment
        self._label = label or kind

    @property
    def label(self) -> str:
        """The kind; numbered where there are several."""
        return self._label

    @property
    def url(self) -> str:
        """Root of the HTTP endpoint."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def ready_url(self) -> str:
        """Answered with status 200 by a service that has started."""
        return f"{self.url}/readyz"

    def launch(self) -> Launch:
        """The same Python as this one, with the stack's addresses in the environment."""
        port = {f"GRAPHWRIGHT_{self.kind.upper()}_HTTP_PORT": str(self.port)}
        return Launch(
            self.label,
            (sys.executable, "-m", f"graphwright.{self.kind}"),
            inherited() | dict(self._environment) | port,
            self.log,
        )
